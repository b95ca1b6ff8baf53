"""Layout of a folder: over how many object storage targets the files spread that are made in it from now on."""

from __future__ import annotations

from ..host import Node, NodeError
from ..mountinfo import mounts


def stripe(node: Node, path: str, purpose: str) -> str:
    """Give a folder the layout for its purpose; it is made when it is missing.

    Args:
        node: the node.
        path: the folder, on Lustre.
        purpose: `checkpoints`, `data` or `logs`.

    Returns:
        One line that says what was set.

    Raises:
        NodeError: it is not on Lustre, or the layout cannot be set.
    """
    layout = node.facts["lustre"]["layouts"][purpose]
    require_lustre(node, path)
    folder = node.path(path)
    folder.mkdir(parents=True, exist_ok=True)
    count, size = layout["stripe_count"], layout["stripe_size_mib"]
    node.run("lfs", "setstripe", "-c", str(count), *(("-S", f"{size}M") if size else ()), folder)
    targets = "all targets" if count < 0 else "one target" if count == 1 else f"{count} targets"
    return (
        f"{path}: new files go to {targets}{f' in stripes of {size} MiB' if size else ''}; files in it stay as they are"
    )


def require_lustre(node: Node, path: str) -> None:
    """The path is on a mounted Lustre file system.

    Raises:
        NodeError: it is not.
    """
    above = [mount for mount in mounts(node) if f"{path}/".startswith(f"{mount.path.rstrip('/')}/")]
    kind = max(above, key=lambda mount: len(mount.path)).kind if above else "nothing"
    if kind != "lustre":
        raise NodeError(f"{path} is on {kind}, not on Lustre; give a path below a Lustre mount")
