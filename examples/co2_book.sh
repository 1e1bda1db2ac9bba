#!/usr/bin/env bash
# The CO2 model of Rasmussen & Williams (2006), §5.4.3: a trend, seasons that
# change slowly, medium-term irregularities, and correlated noise, all from the year
# alone. The script fits examples/co2.csv from the book's parameters, forecasts to
# 2020, and draws co2_forecast.svg. It writes everything to FOLDER (default: the current
# folder).
#
#   examples/co2_book.sh [FOLDER]
#
# GPFIT names the program (default: gpfit).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-.}
gpfit=${GPFIT:-gpfit}

kernel='rbf(lengthscale=67, signal_variance=4356)
  + rbf(lengthscale=90, signal_variance=5.76)*periodic(lengthscale=1.3, period=1)
  + rq(lengthscale=1.2, alpha=0.78, signal_variance=0.4356)
  + rbf(lengthscale=0.134, signal_variance=0.0324)'

"$gpfit" fit "$here/co2.csv" --features year --standardize none --mean constant --kernel "$kernel" \
  --set noise_variance=0.0361 --out "$out/co2_book.gpfit" --force

# The middle of every month from March 1958 to December 2019.
{
  echo year
  for year in $(seq 1958 2019); do
    for month in $(seq 1 12); do
      awk -v y="$year" -v m="$month" 'BEGIN { printf "%.6f\n", y + (m - 0.5) / 12 }'
    done
  done
} >"$out/co2_months.csv"

"$gpfit" predict "$out/co2_book.gpfit" "$out/co2_months.csv" --plot "$out/co2_forecast.svg" --out "$out/co2_forecast.csv"
tail -n 1 "$out/co2_forecast.csv"
