/** Replays exchanges of recordings that were asked of a cluster as it came, one after the other:
 *  what an earlier answer had is filled into later requests, and what differs between two runs of
 *  the same server is masked. */

import { readFileSync } from 'node:fs'
import type { OutgoingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { allKeys } from '../../lib/base/keys.ts'
import { ask, caughtUp, type HttpAnswer, type Served } from '../support/http/served.ts'
import { bodyBytes, type Exchange, type Headers, type RecordedResponse } from './load.ts'
import { firstDifference } from './replay.ts'

export interface AskedExchange extends Exchange {
  readonly client_certificate?: object
  /** The request with names in place of what an earlier answer had. */
  readonly template?: {
    readonly path?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
  }
  /** Names, and where their values stand in the answer. */
  readonly capture?: Readonly<Record<string, readonly string[]>>
  /** The time that passed after it. */
  readonly settle_ms?: number
  /** The answer of another run, where two runs differ. */
  readonly response_other?: RecordedResponse
}

/** The users of these recordings. */
export const tokens: string = [
  'golden-admin-token,admin,admin-uid,"system:masters"',
  'golden-alice-token,alice,u-alice,"dev"',
  'golden-bob-token,bob,u-bob',
  'golden-carol-token,carol,u-carol,"dev,ops"',
  'golden-dave-token,dave,u-dave,"approvers"',
  'golden-erin-token,erin,u-erin,"limited"',
].join('\n')

/** @param name below `data/` */
export function readAsked<Kind extends AskedExchange>(name: string): Kind[] {
  const file = new URL(`../../../test/golden/data/${name}`, import.meta.url)
  const lines = gunzipSync(readFileSync(file)).toString().trim().split('\n')
  return lines.map(line => JSON.parse(line) as Kind)
}

/** Everything is mirrored. */
export async function settled(served: Served): Promise<void> {
  const { header } = await served.client.range({ range: allKeys, countOnly: true })
  await caughtUp(served, header.revision)
}

/** Asks what was asked, with the values of earlier answers. */
export class Asker {
  readonly #served: Served
  readonly #captured = new Map<string, string>()

  /** @param known values that the one who asks has */
  constructor(served: Served, known: Readonly<Record<string, string>> = {}) {
    this.#served = served
    for (const [name, value] of Object.entries(known)) this.#captured.set(name, value)
  }

  async ask({
    request,
    template,
    capture = {},
    settle_ms: settleMs = 0,
  }: AskedExchange): Promise<HttpAnswer> {
    await settled(this.#served)
    const {
      Host: _,
      'Content-Length': __,
      ...headers
    } = { ...request.headers, ...template?.headers } as OutgoingHttpHeaders
    const body = template?.body ?? request.body
    const sent = body === undefined ? undefined : this.#filled(body)
    const filled = Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? this.#filled(value) : value,
    ])
    const length = sent === undefined ? {} : { 'Content-Length': Buffer.byteLength(sent) }
    const asked = {
      method: request.method,
      path: this.#filled(template?.path ?? request.path),
      headers: { ...(Object.fromEntries(filled) as OutgoingHttpHeaders), ...length },
      body: sent,
    }
    const answer = await ask(this.#served.service.port, asked)
    const { clock } = this.#served
    clock.stoppedAtMs = clock.wallMs() + settleMs
    for (const [name, path] of Object.entries(capture)) {
      let found: unknown = JSON.parse(answer.body.toString())
      for (const key of path) found = (found as Record<string, unknown>)[key]
      this.#captured.set(name, String(found))
    }
    return answer
  }

  #filled(text: string): string {
    return text.replaceAll(
      /\{\{(\w+)\}\}/g,
      (whole, name: string) => this.#captured.get(name) ?? whole,
    )
  }
}

/** The difference of an answer from what was recorded; undefined if there is none. */
export function differenceOf(answer: HttpAnswer, exchange: AskedExchange): string | undefined {
  const { response, response_other: other, flags } = exchange
  const first = differenceFrom(answer, response, flags)
  if (first === undefined || other === undefined) return first
  return differenceFrom(answer, other, flags) === undefined ? undefined : first
}

function differenceFrom(
  answer: HttpAnswer,
  response: RecordedResponse,
  flags: readonly string[],
): string | undefined {
  if (answer.status !== response.status) {
    return `${answer.status} instead of ${response.status}: ${answer.body.toString().slice(0, 600)} instead of ${response.body?.slice(0, 600)}`
  }
  if (flags.includes('varies') || flags.includes('timing')) return undefined
  if (response.body_base64 !== undefined) {
    const isSame = answer.body.equals(bodyBytes(response))
    return isSame
      ? undefined
      : firstDifference(answer.body.toString('latin1'), bodyBytes(response).toString('latin1'))
  }
  const isInOrder = !flags.includes('managed-fields-order')
  const [ours, theirs] = [answer.body.toString(), response.body ?? ''].map(text =>
    masked(isInOrder ? text : withOrderedManagers(text)),
  )
  if (ours !== theirs) return firstDifference(ours ?? '', theirs ?? '')
  // The client reads headers as bytes.
  const warned = Buffer.from(warningsOf(answer.headers), 'latin1').toString()
  const recorded = warningsOf(response.headers)
  return warned === recorded ? undefined : `warnings ${warned} instead of ${recorded}`
}

function warningsOf(headers: Headers | HttpAnswer['headers']): string {
  const { warning = '' } = headers
  const text = typeof warning === 'string' ? warning : warning.join(', ')
  return masked(text)
}

/** The order of managers goes by the second of their time. */
function withOrderedManagers(text: string): string {
  if (!text.startsWith('{')) return text
  return JSON.stringify(JSON.parse(text), (name, value: unknown) =>
    name === 'managedFields' && Array.isArray(value)
      ? value
          .map(entry => ({ text: masked(JSON.stringify(entry)), entry: entry as object }))
          .sort((a, b) => (a.text < b.text ? -1 : 1))
          .map(({ entry }) => entry)
      : value,
  )
}

const openShiftSource =
  ',{"configMap":{"name":"openshift-service-ca.crt","items":[{"key":"service-ca.crt","path":"service-ca.crt"}]}}'

/** The text without the parts that differ between two runs of the same server. */
export function masked(text: string): string {
  return (
    text
      .replaceAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'JWT')
      .replaceAll(/"continue":"eyJ[\w-]*"/g, '"continue":"TOKEN"')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
      .replaceAll(/("resourceVersion\\*": ?\\*")\d+/g, '$1RV')
      .replaceAll(/in record \(\d+\)/g, 'in record (RV)')
      .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
      .replaceAll(/(gen-|kube-api-access-|Bad_|x{50,})[a-z0-9]{5}\b/g, '$1SUFFIX')
      .replaceAll(
        /"(clusterIP|nodePort|healthCheckNodePort)":("10\.[\d.]+"|\d+)/g,
        '"$1":ALLOCATED',
      )
      .replaceAll(/"clusterIPs":\["10\.[\d.]+"\]/g, '"clusterIPs":ALLOCATED')
      .replaceAll(/"caBundle":"[^"]+"/g, '"caBundle":CA')
      .replaceAll(/X509SHA256=[0-9a-f]+/g, 'X509')
      .replaceAll(/selfType\d+/g, 'selfTypeN')
      // The recorded server was OpenShift's: its name, and what it adds to pods for itself.
      .replaceAll('"manager":"kube-apiserver-1.36"', '"manager":"kube-apiserver"')
      .replaceAll(openShiftSource, '')
  )
}
