"""Names of labels, in the order of the columns of probabilities."""

_NAMES = (
    "NOT_SET UNKNOWN DONTCARE CAR VAN TRAM BUS TRUCK EMERGENCY_VEHICLE OTHER_VEHICLE BICYCLE MOTORCYCLE CYCLIST MOTORCYCLIST"
    " PEDESTRIAN ANIMAL"
).split()

PERCEPTION_LABELS = [*(f"PERCEPTION_LABEL_{name}" for name in _NAMES), "AVRESEARCH_LABEL_DONTCARE"]
"""Labels of agents: the columns of `label_probabilities`."""

PERCEPTION_LABEL_TO_INDEX = {label: index for index, label in enumerate(PERCEPTION_LABELS)}
"""Column of each label."""

TL_FACE_LABELS = ["ACTIVE", "INACTIVE", "UNKNOWN"]
"""States of traffic light faces: the columns of `traffic_light_face_status`."""

TL_FACE_LABEL_TO_INDEX = {label: index for index, label in enumerate(TL_FACE_LABELS)}
"""Column of each state."""
