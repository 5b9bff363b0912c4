"""Reads a recording with the decoders of MCAP, matches its messages plainly, and prints the rows as JSON.

`drive.py FILE CLOCK TOPIC`: for each message of CLOCK by its log time the last message of TOPIC by its stamp, and the difference in nanoseconds.
"""

import json
import sys

from mcap.reader import make_reader
from mcap_ros1.decoder import DecoderFactory

path, clock, topic = sys.argv[1:]
ticks, messages = [], []
with open(path, "rb") as file:
    for _, channel, message, decoded in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
        if channel.topic == clock:
            ticks.append(message.log_time)
        if channel.topic == topic:
            stamp = decoded.transforms[0].header.stamp
            messages.append((stamp.secs * 10**9 + stamp.nsecs, message.log_time, decoded))
rows = []
for tick in sorted(ticks):
    found = [one for one in messages if one[0] <= tick]
    if not found:
        rows.append([tick, None, None, None])
        continue
    stamp, _, decoded = max(found, key=lambda one: one[:2])
    moves = [[one.transform.translation.x, one.transform.translation.y, one.transform.translation.z] for one in decoded.transforms]
    rows.append([tick, stamp - tick, [one.child_frame_id for one in decoded.transforms], moves])
print(json.dumps(rows))
