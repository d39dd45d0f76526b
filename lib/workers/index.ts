/** Everything that other packages may import of this one. */

export { ownSegmentsMaxBytes } from './encodings/shared-segments.ts'
export type { PageFigures } from './mirror/page-figures.ts'
export { FaceThread } from './process/face-thread.ts'
export {
  copiesOf,
  type CopiesOptions,
  type Front,
  type RulesOfProcess,
  type ThreadProgram,
  Threads,
  type ThreadsOptions,
} from './threads.ts'
