def scan(
    block: bytes,
    line: int,
    token: bytes,
    longest: int,
    keys: tuple[bytes, ...],
    first: bytes | None,
    /,
) -> tuple[bytes, list[int], int]: ...
