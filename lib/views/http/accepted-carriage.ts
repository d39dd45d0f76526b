/** The form in which a view is wanted, by the Accept header: JSON, or, of a live page, server-sent
 *  events. */

import type { RequestContext } from '@watchglass/cache'
import { acceptClauses, contentType } from '@watchglass/codec'
import { notAcceptable } from '@watchglass/kube'
import { eventsMediaType, type LiveCarriage } from './live-carriage.ts'

/** Refuses what a view cannot be had as. The first clause that can be satisfied decides, as for
 *  lists. */
export function acceptedCarriage(
  { reply: { preference } }: RequestContext,
  isLive: boolean,
): Exclude<LiveCarriage, 'messages'> {
  const { accept = '' } = preference
  if (accept === '') return 'lines'
  const offered = isLive ? [contentType('json'), eventsMediaType] : [contentType('json')]
  for (const { type, subtype, parameters } of acceptClauses(accept)) {
    // Lists are rendered as Tables or metadata, views as nothing but themselves.
    if (parameters.has('as')) continue
    const found = offered.find(name => matches(`${type}/${subtype}`, name))
    if (found !== undefined) return found === eventsMediaType ? 'events' : 'lines'
  }
  const message = `only the following media types are accepted: ${offered.join(', ')}`
  throw notAcceptable(message, false)
}

function matches(range: string, name: string): boolean {
  return range === '*/*' || range === name || range === `${name.split('/')[0]}/*`
}
