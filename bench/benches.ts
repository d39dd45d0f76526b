/** Every benchmark, in the order of the layers. */

import type { Bench } from './bench.ts'
import { actorsBench } from './actors/actors.ts'
import { admissionBench } from './admission/admission.ts'
import { attacksBench } from './attacks/attacks.ts'
import { authBench } from './auth/auth.ts'
import { clustersBench } from './clusters/clusters.ts'
import { neighboursBench } from './clusters/neighbours.ts'
import { codecBench } from './codec/codec.ts'
import { outputs } from './codec/outputs.ts'
import { engineBench } from './engine/engine.ts'
import { etcdFaceBench } from './etcd-face/etcd-face.ts'
import { evidenceBench } from './evidence/evidence.ts'
import { dropBench } from './fleet/drop.ts'
import { shardsBench } from './fleet/shards.ts'
import { streamsBench } from './fleet/streams.ts'
import { httpBench } from './http/http.ts'
import { ingestBench } from './ingest/ingest.ts'
import { listBench } from './list/list.ts'
import { coldBench } from './million/cold.ts'
import { growthBench } from './million/growth.ts'
import { millionBench } from './million/million.ts'
import { mirrorBench } from './mirror/mirror.ts'
import { nodesBench } from './nodes/nodes.ts'
import { proxyBench } from './proxy/proxy.ts'
import { resumeBench } from './resume/resume.ts'
import { sizingBench } from './sizing/sizing.ts'
import { sourceBench } from './source/source.ts'
import { storeBench } from './store/store.ts'
import { threadsBench } from './threads/threads.ts'
import { viewsBench } from './views/views.ts'
import { slowWatchersBench } from './watch/slow-watchers.ts'
import { checkpointBench } from './tiers/checkpoint.ts'
import { tiersBench } from './tiers/tiers.ts'
import { watchBench } from './watch/watch.ts'
import { writeBench } from './write/write.ts'

export const benches: readonly Bench[] = [
  storeBench,
  engineBench,
  etcdFaceBench,
  mirrorBench,
  ingestBench,
  millionBench,
  growthBench,
  coldBench,
  sizingBench,
  clustersBench,
  neighboursBench,
  codecBench,
  outputs,
  listBench,
  httpBench,
  dropBench,
  shardsBench,
  streamsBench,
  watchBench,
  slowWatchersBench,
  nodesBench,
  resumeBench,
  viewsBench,
  writeBench,
  admissionBench,
  actorsBench,
  proxyBench,
  sourceBench,
  evidenceBench,
  authBench,
  threadsBench,
  tiersBench,
  checkpointBench,
  attacksBench,
]
