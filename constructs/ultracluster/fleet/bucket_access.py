"""What the nodes of a fleet may do with a bucket."""

from __future__ import annotations

from aws_cdk import aws_s3 as s3

__all__ = ["BucketAccess"]


class BucketAccess:
    """Read access to a bucket, or to what lies under a prefix of it; with `write`, also to put and delete objects.

    Example:
        ```python
        BucketAccess(checkpoints.bucket, prefix="run-7/", write=True)
        ```

    Attributes:
        bucket: the bucket; its customer key, if it has one, is granted along with it.
        prefix: key prefix, empty for the whole bucket.
        write: whether nodes may put, replace and delete objects. Checkpoint writers delete the oldest ones.
    """

    __slots__ = ("bucket", "prefix", "write")

    def __init__(self, bucket: s3.IBucket, *, prefix: str = "", write: bool = False) -> None:
        self.bucket = bucket
        self.prefix = prefix.lstrip("/")
        self.write = write

    def statements(self) -> list[dict[str, object]]:
        """The least IAM statements that allow it."""
        arn = self.bucket.bucket_arn
        key = self.bucket.encryption_key
        listing: dict[str, object] = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn}
        if self.prefix:
            listing["Condition"] = {"StringLike": {"s3:prefix": f"{self.prefix}*"}}
        statements: list[dict[str, object]] = [
            listing,
            {"Effect": "Allow", "Action": self._object_actions(), "Resource": f"{arn}/{self.prefix}*"},
        ]
        if key is not None:
            actions = ["kms:Decrypt", "kms:GenerateDataKey"] if self.write else ["kms:Decrypt"]
            statements.append({"Effect": "Allow", "Action": actions, "Resource": key.key_arn})
        return statements

    def _object_actions(self) -> list[str]:
        if not self.write:
            return ["s3:GetObject"]
        writing = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:DeleteObject"]
        return ["s3:GetObject", *writing]
