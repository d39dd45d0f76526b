/** One object of every kind with all that its Table shows. */

import { access, cluster } from './full-cluster.ts'
import { core } from './full-core.ts'
import type { Row } from './full-shared.ts'
import { network, storage, workloads } from './full-workloads.ts'

export const fullObjects: readonly Row[] = [
  ...core,
  ...workloads,
  ...network,
  ...storage,
  ...access,
  ...cluster,
]
