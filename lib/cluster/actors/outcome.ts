/** The writes that a controller asks for: each looks at what there is, says what is to be written,
 *  and looks again when that has changed something. It has no clock and draws nothing. */

import type { Key } from '../../base/keys.ts'
import type { ActorApi, Creation } from './actor-api.ts'

export type Write =
  | ({ readonly type: 'create' } & Creation)
  | {
      readonly type: 'patch'
      readonly key: Key
      /** A merge patch. */
      readonly patch: object
      readonly subresource?: string
    }
  | {
      readonly type: 'delete'
      readonly key: Key
      readonly uid: string
      readonly graceSeconds?: number
    }

/** Does them in their order. One that is refused ends the rest, to be tried again. */
export async function doWrites(api: ActorApi, writes: readonly Write[]): Promise<void> {
  for (const write of writes) {
    if (write.type === 'create') await api.create(write)
    else if (write.type === 'patch') await api.patch(write.key, write.patch, write.subresource)
    else await api.delete(write.key, write.uid, write.graceSeconds)
  }
}
