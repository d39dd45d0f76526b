/** The Event about a pod that may not be created: by a quota, by Pod Security, by a webhook, or
 *  since its account is missing. Users look for it first when a workload has no pods. */

import type { Note } from '../runtime/event-recorder.ts'
import type { RefusedWrite } from '../runtime/reconcile-result.ts'

/** Notes as those of upstream's RealPodControl. None is told in a namespace that is going away. */
export function refusedCreation(
  { write, status }: RefusedWrite,
  message: (reason: string) => string = reason => `Error creating: ${reason}`,
): readonly Note[] {
  const isEnding = status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating')
  if (write.type !== 'create' || isEnding === true) return []
  return [{ type: 'Warning', reason: 'FailedCreate', message: message(status.message) }]
}
