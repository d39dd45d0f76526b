/** The user as whom a cluster of a fleet asks its API server. */

import type { Logger } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import { KubeconfigAccess, nodeSystem } from '@watchglass/kubeconfig'
import type { OptionValues } from '../../options/option-values.ts'

/** Notes how to close what was opened; fails if nobody wants it any more. */
export type NoteEnd = (end: () => Promise<unknown> | void) => void

interface UserParts {
  readonly values: OptionValues
  readonly logger: Logger
}

/** The user whom the cluster's kubeconfig names; undefined without one. */
export async function accessOf(
  { values, logger }: UserParts,
  onEnd: NoteEnd,
): Promise<KubeconfigAccess | undefined> {
  const kubeconfig = values.text('kubeconfig')
  if (kubeconfig === undefined) return undefined
  const access = await KubeconfigAccess.open({
    kubeconfig,
    context: values.text('context'),
    system: nodeSystem(),
    clock: systemClock,
    logger,
  })
  onEnd(() => access.stop())
  return access
}
