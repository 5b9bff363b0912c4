"""Level 5 data as L5Kit's users know it: samples, masks, rasters, maps and metrics.

    from tetrys.l5 import ChunkedDataset, EgoDataset, LocalDataManager, build_rasterizer

A data set is a table that `tetrys.ingest_l5` made, or a zarr group. See the chapter "Coming from L5Kit" of the guide.
"""

from ._chop import create_chopped_dataset, export_zarr_to_csv
from ._chunked import AGENT_DTYPE, FRAME_DTYPE, SCENE_DTYPE, TL_FACE_DTYPE, ChunkedDataset, LazyRecords
from ._combine import export, get_combined_scenes, scene_subset, zarr_concat, zarr_scenes_chop, zarr_split
from ._config import DataManager, LocalDataManager, TableDataManager, attach, load_config_data, load_metadata, save_config_data
from ._datasets import AgentDataset, EgoDataset
from ._evaluation import (
    CollisionType,
    average_displacement_error_mean,
    average_displacement_error_oracle,
    compute_metrics_csv,
    detect_collision,
    distance_to_reference_trajectory,
    final_displacement_error_mean,
    final_displacement_error_oracle,
    neg_multi_log_likelihood,
    prob_true_mode,
    read_gt_csv,
    read_pred_csv,
    rmse,
    time_displace,
    write_gt_csv,
    write_pred_csv,
)
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
from ._map import InterpolationMethod, MapAPI, MapElement, MapLane, TLFacesColors
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
from ._vectorized import EgoAgentDatasetVectorized, EgoDatasetVectorized, Vectorizer, build_vectorizer

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
    "CollisionType",
    "DataManager",
    "EgoAgentDatasetVectorized",
    "EgoDataset",
    "EgoDatasetVectorized",
    "GaussianRandomGenerator",
    "InterpolationMethod",
    "LambdaRandomGenerator",
    "LazyRecords",
    "LocalDataManager",
    "MapAPI",
    "MapElement",
    "MapLane",
    "Perturbation",
    "RandomGenerator",
    "Rasterizer",
    "RenderContext",
    "ReplayRandomGenerator",
    "TLFacesColors",
    "TableDataManager",
    "UniformRandomGenerator",
    "Vectorizer",
    "attach",
    "average_displacement_error_mean",
    "average_displacement_error_oracle",
    "build_rasterizer",
    "build_vectorizer",
    "compute_metrics_csv",
    "create_chopped_dataset",
    "detect_collision",
    "distance_to_reference_trajectory",
    "export",
    "export_zarr_to_csv",
    "filter_agents_by_distance",
    "filter_agents_by_frames",
    "filter_agents_by_labels",
    "filter_agents_by_track_id",
    "filter_tl_faces_by_frames",
    "filter_tl_faces_by_status",
    "final_displacement_error_mean",
    "final_displacement_error_oracle",
    "get_agents_slice_from_frames",
    "get_combined_scenes",
    "get_frames_slice_from_scenes",
    "get_tl_faces_slice_from_frames",
    "load_config_data",
    "load_metadata",
    "neg_multi_log_likelihood",
    "prob_true_mode",
    "read_gt_csv",
    "read_pred_csv",
    "rmse",
    "save_config_data",
    "scene_subset",
    "select_agents",
    "time_displace",
    "write_gt_csv",
    "write_pred_csv",
    "zarr_concat",
    "zarr_scenes_chop",
    "zarr_split",
]
