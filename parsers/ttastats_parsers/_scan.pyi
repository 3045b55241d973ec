def scan(
    block: bytes,
    line: int,
    token: bytes,
    longest: int,
    keys: tuple[bytes, ...],
    first: bytes | None,
    is_whole: bool,
    /,
) -> tuple[bytes, list[int], int]: ...
def fields(message: bytes, /) -> list[tuple[int, int | bytes]] | None: ...
def items(message: bytes, /) -> dict[str, bytes] | None: ...
def scalars(
    block: bytes,
    record: int,
    rows: dict[bytes, bytearray],
    others: list[tuple[int, bytes]],
    damaged: list[int],
    /,
) -> tuple[int, int, float, float, int]: ...
