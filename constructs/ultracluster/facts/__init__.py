"""What is true: data files with sources and dates, and one small reader per file."""
