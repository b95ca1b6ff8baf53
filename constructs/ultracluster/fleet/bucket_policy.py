"""The least IAM statements for what a fleet may do with a bucket."""

from __future__ import annotations

from ultracluster.storage.bucket_access import BucketAccess

__all__ = ["bucket_statements"]

_READ = ["s3:GetObject"]
_WRITE = ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:DeleteObject"]
"""Writers of checkpoints also delete: they keep the latest few. Versions of the bucket protect from mistakes."""


def bucket_statements(access: BucketAccess) -> list[dict[str, object]]:
    """Listing and objects below the prefix, and the customer key of the bucket where it has one."""
    arn = access.target.bucket_arn
    key = access.target.encryption_key
    listing: dict[str, object] = {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": arn}
    if access.prefix:
        listing["Condition"] = {"StringLike": {"s3:prefix": f"{access.prefix}*"}}
    actions = [*_READ, *_WRITE] if access.write else _READ
    statements: list[dict[str, object]] = [
        listing,
        {"Effect": "Allow", "Action": actions, "Resource": f"{arn}/{access.prefix}*"},
    ]
    if key is not None:
        use = ["kms:Decrypt", "kms:GenerateDataKey"] if access.write else ["kms:Decrypt"]
        statements.append({"Effect": "Allow", "Action": use, "Resource": key.key_arn})
    return statements
