# One image, two commands: `node dist/src/main.js` (api) and `node dist/worker/main.js` (worker), each with the flags below.
# Debian, because the engine's native library is built for glibc only.
FROM node:20.20.2-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY workflows ./workflows
COPY activities ./activities
COPY worker ./worker
COPY scripts/setup.ts ./scripts/setup.ts
RUN npm run build && npm prune --omit=dev

FROM node:20.20.2-bookworm-slim
ENV NODE_ENV=production \
    NODE_OPTIONS=--enable-source-maps \
    WORKFLOW_BUNDLE=/app/dist/workflow-bundle.js
WORKDIR /app
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY docs ./docs
COPY deploy/healthy.js ./deploy/healthy.js
# Numeric, so that Kubernetes can check that it is not root.
USER 1000:1000
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
CMD ["node", "--min-semi-space-size=32", "--max-semi-space-size=64", "--heap-growing-percent=150", "--no-flush-bytecode", "dist/src/main.js"]
