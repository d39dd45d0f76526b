/** The agreement of the bench with its upstream. */

/** Requests of clients have this header, and pass on other connections than the program's own
 *  requests. */
export const clientHeader = 'x-client'

/** The path of a list, and of some of its objects. */
export interface ReadableResource {
  readonly name: string
  readonly list: string
  readonly objects: readonly string[]
}
