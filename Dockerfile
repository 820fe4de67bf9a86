# docker build -t toprank .
# docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" toprank rank my.toprank today.csv -o alerts.csv

FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE MANIFEST.in CHANGELOG.md constraints.txt ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY --from=build /source/constraints.txt /wheels/
RUN pip install --no-cache-dir --constraint /wheels/constraints.txt "$(ls /wheels/*.whl)[desk,kafka,nats,postgres]" \
    && rm -r /wheels \
    && useradd --create-home toprank \
    && mkdir /data /kernels \
    && chown toprank: /data /kernels
# Compiled once, here; a container that runs as another user may use and renew them.
ENV NUMBA_CACHE_DIR=/kernels
USER toprank
RUN toprank demo --folder /tmp/demo \
    && rm -r /tmp/demo \
    && chmod -R a+rwX /kernels
WORKDIR /data
ENTRYPOINT ["toprank"]
