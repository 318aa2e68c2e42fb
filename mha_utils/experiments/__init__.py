"""What heads learn: tasks with known answers, small models, training, scores, recorded results."""

from mha_utils.experiments.record import EXPERIMENTS, find, recorded, same_size
