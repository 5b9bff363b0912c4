"""Takes bytes from the front of other bytes, never beyond their end."""

from ._errors import require


class Cursor:
    def __init__(self, data, what):
        self.data, self.at, self.what = data, 0, what

    def take(self, count):
        left = len(self.data) - self.at
        require(count <= left, f"{self.what}: expected {count} bytes at {self.at}, found {left}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, width):
        return int.from_bytes(self.take(width), "little")

    def zeros(self, count):
        require(not any(self.take(count)), f"{self.what}: padding or reserved bytes before {self.at} are not zero")

    def end(self):
        require(self.at == len(self.data), f"{self.what}: {len(self.data) - self.at} bytes are left")
