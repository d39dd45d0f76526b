/** Everything that other packages may import of this one. */

export type { ViewAnswers } from './http/view-answers.ts'
