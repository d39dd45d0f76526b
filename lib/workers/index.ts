/** Everything that other packages may import of this one. */

export { ownSegmentsMaxBytes } from './encodings/shared-segments.ts'
export type { PageFigures } from './mirror/page-figures.ts'
export { WorkerThread } from './process/worker-thread.ts'
export {
  copiesOf,
  type CopiesOptions,
  type ClientListener,
  type RulesOfProcess,
  type WorkerProgram,
  Workers,
  type WorkersOptions,
} from './workers.ts'
