/** Questions to the Kubernetes API of the same listener, asked by the browser as the caller who
 *  looks: the page shows nothing that this caller would not be answered anyway. */

import type { ShownCell } from './cells.ts'
import { kindsOf, type ListedKind, type ServedDiscovery } from './addresses.ts'

export const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const discoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** An event that is longer is no event of a sane server, and would fill the tab's memory. */
const lineMaxChars = 16 * 1024 * 1024

/** Statuses that asking again does not change. */
const finalStatuses = new Set([400, 401, 403, 404, 405, 406])

/** An answer other than 2xx, or a failure that is treated as one. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion: string
}

/** An object of any kind, as far as the page reads it itself. */
export interface ApiObject {
  readonly kind?: string
  readonly metadata: ObjectMeta
}

export interface ServedColumn {
  readonly name: string
  readonly type: string
  readonly description: string
  readonly priority: number
}

export interface TableRow {
  readonly cells: readonly ShownCell[]
  readonly object: ApiObject
}

export interface TableAnswer {
  readonly kind: string
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly columnDefinitions: readonly ServedColumn[]
  readonly rows?: readonly TableRow[]
}

/** The object of a watch event: one of the kind asked for, a Table of one row, or a Status. */
interface EventObject {
  readonly kind?: string
  readonly metadata?: { readonly resourceVersion?: string }
  readonly rows?: readonly TableRow[]
  readonly code?: number
  readonly message?: string
}

export interface FollowedList<T> {
  readonly url: string
  readonly accept: string
  readonly revision: string
  readonly signal: AbortSignal
  /** Takes each event, but for bookmarks. */
  take(this: void, type: string, object: T): void
}

/** Asks, and throws an ApiError with the server's message for an answer that is not 2xx. Paths of
 *  the API begin at the page, which may be that of one of many clusters. */
export async function ask(path: string, accept: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(`.${path}`, {
    headers: { accept },
    cache: 'no-store',
    redirect: 'error',
    signal,
  })
  if (answer.ok) return answer
  const message = messageOf(await answer.text()) || `status ${answer.status}`
  throw new ApiError(answer.status, message.slice(0, 500))
}

export async function askJson<T>(url: string, accept: string, signal: AbortSignal): Promise<T> {
  return (await (await ask(url, accept, signal)).json()) as T
}

/** Hands on the changes after a revision, until the signal or a failure. */
export async function follow<T>(following: FollowedList<T>): Promise<never> {
  const { url, accept, signal, take } = following
  let last = following.revision
  for (;;) {
    const query = new URLSearchParams({
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: last,
    })
    const { body } = await ask(`${url}${url.includes('?') ? '&' : '?'}${query}`, accept, signal)
    if (body !== null) {
      for await (const line of linesOf(body)) {
        const { type, object } = JSON.parse(line) as { type: string; object: EventObject }
        if (type === 'ERROR') throw new ApiError(object.code ?? 0, String(object.message))
        const shown = object.kind === 'Table' ? object.rows?.[0]?.object : object
        last = shown?.metadata?.resourceVersion ?? last
        if (type !== 'BOOKMARK') take(type, object as T)
      }
    }
    await wait(1000, signal)
  }
}

/** Runs work until it ends, is refused for good, or the signal comes; other failures are told and
 *  tried again. */
export async function persist(
  signal: AbortSignal,
  tell: (text: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (signal.aborted) return
      const status = error instanceof ApiError ? error.status : undefined
      const isFinal = status !== undefined && finalStatuses.has(status)
      if (status !== 410) tell((isFinal ? '' : 'Not live, trying again: ') + messageOfError(error))
      if (isFinal) return
    }
    try {
      await wait(2000, signal)
    } catch {
      return
    }
  }
}

export async function findKinds(signal: AbortSignal): Promise<Map<string, ListedKind>> {
  const documents = await Promise.all(
    ['/api', '/apis'].map(path => askJson<ServedDiscovery>(path, discoveryType, signal)),
  )
  return new Map(documents.flatMap(document => [...kindsOf(document)]))
}

export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const stop = (): void => {
      clearTimeout(timer)
      fail(signal.reason as Error)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop)
      done()
    }, ms)
    signal.addEventListener('abort', stop, { once: true })
  })
}

export function messageOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The message of a Status, or the text itself. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    return typeof message === 'string' ? message.trim() : text.trim()
  } catch {
    return text.trim()
  }
}

export async function* linesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > lineMaxChars) throw new Error('an event is too long')
    yield* lines
  }
}
