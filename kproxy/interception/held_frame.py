"""What has come of a frame that cannot pass yet: a part of its first fields, or all of it until it is whole."""


class HeldFrame:
    """The beginning of one frame, or nothing. Every byte is copied once, and once more when the frame is whole."""

    __slots__ = ("begun_count", "came", "frame_bytes")

    def __init__(self) -> None:
        self.came: bytes | bytearray = b""
        """What has come of it."""
        self.frame_bytes = 0
        """The full size of a frame that is to be held until it is whole; 0 when there is none, or nobody knows yet."""
        self.begun_count = 0
        """How many frames were held until they were whole, this one included: two may be equally long."""

    @property
    def missing_bytes(self) -> int:
        """How much has yet to come of a frame whose full size is known; 0 where it is not."""
        return self.frame_bytes - len(self.came) if self.frame_bytes else 0

    def begin(self, data: bytes | memoryview, frame_bytes: int = 0) -> None:
        """Keep `data`, if there is any, with which a frame of `frame_bytes` begins. Nothing is held before."""
        if data:
            self.came, self.frame_bytes = bytearray(data), frame_bytes
            self.begun_count += frame_bytes > 0

    def go_on(self, data: bytes | memoryview) -> memoryview | None:
        """Add `data`, which is no more than is missing; return the frame when it is whole, and hold nothing then."""
        self.came += data
        return None if len(self.came) < self.frame_bytes else memoryview(self.take())

    def take(self) -> bytes:
        """Return what has come, once."""
        came, self.came, self.frame_bytes = bytes(self.came), b"", 0
        return came
