"""Machine images that are built, tested and distributed by EC2 Image Builder."""
