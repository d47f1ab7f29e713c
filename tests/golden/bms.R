# Golden numbers from BMS (Zeugner and Feldkircher), full enumeration with a fixed g and custom inclusion probabilities.
# Run from the project's root: Rscript tests/golden/bms.R > tests/golden/bms.json
suppressMessages(library(BMS))

n <- 40
k <- 8
i <- 1:n
x <- sapply(1:k, function(j) sin(i * j * 0.7) + 0.5 * cos(i * (j + 1) * 0.31)) # deterministic: no seed to agree on
y <- 1 + x %*% c(1, -0.6, 0, 0.3, 0, 0, 0.15, 0) + 0.8 * sin(i * 2.9 + i^2 * 0.017)
probability <- c(0.5, 0.9, 0.2, 0.4, 0.35, 0.1, 0.6, 0.75)

number <- function(v) paste(sprintf("%.17g", v), collapse = ", ")
case <- function(g, size, mprior) {
  fit <- bms(cbind(y, x), mprior = mprior, mprior.size = size, g = g, mcmc = "enumerate", nmodel = 2^k, user.int = FALSE)
  table <- coef(fit, order.by.pip = FALSE, exact = TRUE)
  sprintf(
    '  {"g": %s, "mprior": "%s", "inclusion": [%s], "mean": [%s], "sd": [%s], "top_probability": [%s]}',
    number(fit$gprior.info$g), mprior, number(table[, 1]), number(table[, 2]), number(table[, 3]),
    number((pmp.bma(fit)[, 1] / sum(pmp.bma(fit)[, 1]))[1:5]) # all 2^k sets are kept, so they sum to one
  )
}
cases <- c(case(25, probability, "pip"), case("UIP", probability, "pip"), case(25, k / 2, "random"))
cat("{\n")
cat(sprintf('"program": "BMS %s", "n": %d, "k": %d,\n', packageVersion("BMS"), n, k))
cat(sprintf('"x": [%s],\n"y": [%s],\n"probability": [%s],\n', number(x), number(y), number(probability)))
cat(sprintf('"cases": [\n%s\n]}\n', paste(cases, collapse = ",\n")))
