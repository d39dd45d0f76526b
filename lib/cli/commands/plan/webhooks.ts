/** The hosts where webhooks may be called, read from the options. */

import { CacheError, isLoopback } from '@watchglass/base'
import type { HttpsCallerOptions } from '@watchglass/simulator'
import { listenOf } from './listen.ts'
import type { OptionValues } from '../../options/option-values.ts'

/** The hosts that webhooks may be at. A client that may write names hosts which the server then
 *  calls: any host where only this machine may write, elsewhere those that the operator names. */
export function webhooksOf(values: OptionValues, isWritable: boolean): HttpsCallerOptions {
  const [services, named] = [values.all('webhook-service'), values.all('webhook-host')]
  if (!isWritable && services.length + named.length > 0) {
    const option = services.length > 0 ? 'webhook-service' : 'webhook-host'
    throw invalid(`--${option} needs a server that takes writes: add --writable`)
  }
  // Where nothing listens, nobody writes.
  const isHere = values.text('listen') === 'none' || isLoopback(listenOf(values).host)
  return {
    services: new Map(services.map(serviceIn)),
    hosts: isHere && named.length === 0 ? undefined : new Set(named),
  }
}

function serviceIn(text: string): [name: string, url: URL] {
  const [, name = '', at = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  const url = URL.canParse(at) ? new URL(at) : undefined
  if (!/^[^/]+\/[^/]+$/.test(name) || url?.protocol !== 'https:') {
    throw invalid(`--webhook-service "${text}" is not NAMESPACE/NAME=https://HOST:PORT`)
  }
  return [name, url]
}

function invalid(message: string): CacheError {
  return new CacheError('invalid_request', message)
}
