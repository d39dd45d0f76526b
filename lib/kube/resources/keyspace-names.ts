/** What people call a keyspace. */

import { type Key, textFromKey } from '../../base/keys.ts'
import type { ApiState } from '../api-state.ts'

/** `pods`, or `deployments.apps`, of a keyspace. The names are made again when the resources have changed. */
export function keyspaceNames(current: () => ApiState): (keyspace: string) => string {
  let state: ApiState | undefined
  let names = new Map<string, string>()
  return keyspace => {
    if (state !== current()) {
      state = current()
      names = new Map(
        state.registry
          .keyspaces()
          .map(({ prefix, resources: [first] }) => [
            prefix,
            first === undefined || first.group === ''
              ? (first?.resource ?? textFromKey(prefix))
              : `${first.resource}.${first.group}`,
          ]),
      )
    }
    return names.get(keyspace) ?? textFromKey(keyspace as Key)
  }
}
