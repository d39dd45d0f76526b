/** The form in which an object is completed, checked and stored, where that is another one than it
 *  was sent in: autoscalers of v1 are written as those of v2. */

import type { JsonObject } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import {
  internalAutoscaler,
  isOldAutoscaler,
} from '../kinds/autoscaling/horizontal-pod-autoscaler/old-version.ts'
import type { Admitted } from './admission.ts'
import type { WriteSession } from './session.ts'
import { inVersion } from './ownership.ts'

/** The internal side of a write. */
export interface InternalForm {
  readonly session: WriteSession
  of(object: JsonObject): JsonObject
  /** The object as it is stored. */
  live(entry: KeyValue, known: JsonObject): JsonObject
  /** Admission, which sees objects in the version of the request. */
  readonly admission: Admitted
}

export function internalForm(session: WriteSession, admission: Admitted): InternalForm {
  const { kind, state, resource } = session
  const other = isOldAutoscaler(kind)
    ? state.registry.find(resource.group, 'v2', resource.resource)
    : undefined
  if (other === undefined) {
    return { session, of: object => object, live: (_, known) => known, admission }
  }
  const inner = session.in(other)
  const shown = (object: JsonObject): JsonObject => inVersion(inner, object, kind.apiVersion)
  const { validate, isDryRun } = admission
  return {
    session: inner,
    of: object => internalAutoscaler(object, kind.schema),
    live: entry => inner.treeOf(entry),
    admission: {
      isDryRun,
      validate: validate && ((object, old) => validate(shown(object), old && shown(old))),
    },
  }
}
