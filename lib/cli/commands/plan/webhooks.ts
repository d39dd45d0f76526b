/** The hosts where webhooks may be called, read from the options. */

import { isLoopback } from '@watchglass/base'
import type { HttpsCallerOptions } from '@watchglass/simulator'
import type { OptionValues } from '../../options/option-values.ts'
import { listenOption } from '../../options/listening.ts'
import { checkRules, valueOf, valuesOf } from '../../options/rules.ts'
import { webhookOptions, webhookServiceOption } from '../../options/writes.ts'

/** The hosts that webhooks may be at. A client that may write names hosts which the server then
 *  calls: any host where only this machine may write, elsewhere those that the operator names. */
export function webhooksOf(values: OptionValues): HttpsCallerOptions {
  checkRules(values, webhookOptions)
  // Where nothing listens, nobody writes.
  const isHere = values.text('listen') === 'none' || isLoopback(valueOf(values, listenOption).host)
  const hosts = values.all('webhook-host')
  return {
    services: new Map(valuesOf(values, webhookServiceOption)),
    hosts: isHere && hosts.length === 0 ? undefined : new Set(hosts),
  }
}
