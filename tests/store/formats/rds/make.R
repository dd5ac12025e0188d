# Makes the files of this folder: data sets in the layout in which IOHanalyzer stores them.
# Rscript make.R
dataset <- function(RT, FV, ...) structure(list(RT = RT, FV = FV), class = c("DataSet", "list"), ...)
matrix_of <- function(rows, ...) matrix(c(...), nrow = length(rows), dimnames = list(rows, NULL))

# two runs of a maximizer: 1 -> 3, 4 -> 5 (ends at 9) and 1 -> 2, 6 -> 5 (ends at 20)
pbo <- dataset(
  RT = matrix_of(c(2, 3, 5), 1, 1, 4, 1, 6, 6),
  FV = matrix_of(c(1, 4, 6, 9, 20), 3, 5, 5, 5, 5, 2, 2, 5, 5, 5),
  funcId = 1L, DIM = 16L, algId = "RLS", suite = "PBO", instance = c(1L, 2L), maxRT = c(9, 20), finalFV = c(5, 5),
  format = "IOHprofiler", maximization = TRUE
)
# hits of targets in RT, chosen evaluations in FV; 0.1 + 0.2 has 17 digits, of which names keep 15
coco <- dataset(
  RT = matrix_of(c(50, 10, 0.1 + 0.2, 1e-9), 1, 3, 7, NA, 1, 1, 5, 90),
  FV = matrix_of(c(1, 7, 100), 50, 0.1 + 0.2, 0.25, 10, 0.1 + 0.2, 1e-9),
  funcId = 3L, DIM = 2L, algId = "CMA", instance = c(1L, 5L), maxRT = c(100, 95), format = "COCO",
  maximization = FALSE
)
nevergrad <- dataset(
  RT = list(), FV = matrix_of(c(25, 100), 1.5, 0.5, 2.5, NA),
  funcId = "sphere", DIM = 3, algId = "DE", maxRT = 100, format = "NEVERGRAD", maximization = FALSE
)
dsl <- structure(list(pbo, coco), class = c("DataSetList", "list"), DIM = c(16, 2), suite = "mixed")
saveRDS(dsl, "two.rds")
saveRDS(structure(list(nevergrad), class = c("DataSetList", "list")), "nevergrad.rds", version = 2, compress = "xz")
save(dsl, nevergrad, file = "all.rda", compress = "bzip2")
saveRDS(data.frame(x = 1:3), "other.rds")
