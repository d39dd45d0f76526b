/** Everything that other packages may import of this one. */

export type { LiveEnd, LiveView } from './live/live-view.ts'
export { parseView, type ViewQuestion } from './question/parse-view.ts'
export type { ViewPieces } from './documents/view-document.ts'
export { type LiveSource, type ViewBody, Views, type ViewSource } from './views.ts'
