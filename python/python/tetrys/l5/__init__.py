"""Level 5 data as L5Kit's users know it: samples, masks, rasters, maps and metrics.

    from tetrys.l5 import ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer

A data set is a table that `tetrys.ingest_l5` made, or a zarr group. See the chapter "Coming from L5Kit" of the guide.
"""

from ._chunked import AGENT_DTYPE, FRAME_DTYPE, SCENE_DTYPE, TL_FACE_DTYPE, ChunkedDataset, LazyRecords
from ._config import DataManager, LocalDataManager, load_config_data, load_metadata, save_config_data
from ._datasets import AgentDataset, EgoDataset
from ._filter import (
    filter_agents_by_distance,
    filter_agents_by_frames,
    filter_agents_by_labels,
    filter_agents_by_track_id,
    filter_tl_faces_by_frames,
    filter_tl_faces_by_status,
    get_agents_slice_from_frames,
    get_frames_slice_from_scenes,
    get_tl_faces_slice_from_frames,
)
from ._labels import PERCEPTION_LABEL_TO_INDEX, PERCEPTION_LABELS, TL_FACE_LABEL_TO_INDEX, TL_FACE_LABELS
from ._masks import TH_DISTANCE_AV, TH_EXTENT_RATIO, TH_YAW_DEGREE, select_agents
from ._perturbation import (
    AckermanPerturbation,
    GaussianRandomGenerator,
    LambdaRandomGenerator,
    Perturbation,
    RandomGenerator,
    ReplayRandomGenerator,
    UniformRandomGenerator,
)
from ._rasterizers import Rasterizer, RenderContext, build_rasterizer

__all__ = [
    "AGENT_DTYPE",
    "FRAME_DTYPE",
    "PERCEPTION_LABELS",
    "PERCEPTION_LABEL_TO_INDEX",
    "SCENE_DTYPE",
    "TH_DISTANCE_AV",
    "TH_EXTENT_RATIO",
    "TH_YAW_DEGREE",
    "TL_FACE_DTYPE",
    "TL_FACE_LABELS",
    "TL_FACE_LABEL_TO_INDEX",
    "AckermanPerturbation",
    "AgentDataset",
    "ChunkedDataset",
    "DataManager",
    "EgoDataset",
    "GaussianRandomGenerator",
    "LambdaRandomGenerator",
    "LazyRecords",
    "LocalDataManager",
    "Perturbation",
    "RandomGenerator",
    "Rasterizer",
    "RenderContext",
    "ReplayRandomGenerator",
    "UniformRandomGenerator",
    "build_rasterizer",
    "filter_agents_by_distance",
    "filter_agents_by_frames",
    "filter_agents_by_labels",
    "filter_agents_by_track_id",
    "filter_tl_faces_by_frames",
    "filter_tl_faces_by_status",
    "get_agents_slice_from_frames",
    "get_frames_slice_from_scenes",
    "get_tl_faces_slice_from_frames",
    "load_config_data",
    "load_metadata",
    "save_config_data",
    "select_agents",
]
