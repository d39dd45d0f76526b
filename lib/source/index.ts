/** Everything that other packages may import of this one. */

export type { ApiMirrorsOptions } from './api-mirrors.ts'
