/** Watches: where they begin, what they select, in which form, how they end. Those that may be open
 *  at the same time are, so that all see the same changes. */

import { json, mergePatch, metadata, protobuf, table, yaml } from '../media-types.ts'
import type { Recorder, WatchQuestion } from '../recorder.ts'
import { events, matrix, type Part, widgets, withQuery } from './part.ts'

type Parameters = Readonly<Record<string, string | undefined>>

type Unplaced = Omit<WatchQuestion, 'area'>

function inArea(area: string): (question: Unplaced) => WatchQuestion {
  return question => ({ ...question, area })
}

function watch(path: string, parameters: Parameters, more: Partial<Unplaced> = {}): Unplaced {
  return { ...more, path: withQuery(path, { watch: 'true', ...parameters }) }
}

const short = { timeoutSeconds: '1' }
/** Long enough for what `changes` does. */
const whileChanged = { resourceVersion: '{now}', timeoutSeconds: '4' }

export const watches: Part = {
  name: 'watches',
  what: 'watches: starts, selections, forms, initial events, bookmarks, errors',
  async ask(recorder) {
    await recorder.watch([
      ...starts.map(inArea('watch')),
      ...refused.map(inArea('watch-errors')),
      ...initialEvents.map(inArea('watchlist')),
    ])
    const changing = [
      ...inForms().map(inArea('watch-media')),
      ...selecting.map(inArea('select')),
      ...custom.map(inArea('watch-cr')),
      ...bookmarks.map(inArea('bookmark')),
    ]
    await recorder.watch(changing, changes(recorder))
  },
}

const starts: readonly Unplaced[] = [
  watch(matrix, { ...short, resourceVersion: '{created}' }),
  watch(matrix, { ...short, resourceVersion: '{deleted}' }),
  watch(matrix, { ...short, resourceVersion: '{now}' }),
  watch(matrix, { ...short, resourceVersion: '0' }),
  watch(matrix, { ...short, resourceVersion: '00' }),
  watch(matrix, { ...short, resourceVersion: '0', limit: '2' }),
  watch(matrix, short),
  watch(matrix, { ...short, resourceVersion: '' }),
  watch(matrix, { ...short, watch: 'maybe', resourceVersion: '0' }),
  watch(matrix, { ...short, watch: '', resourceVersion: '0' }),
  watch(matrix, { resourceVersion: '{future}', timeoutSeconds: '2' }),
  watch(events, short),
  watch(events, { ...short, resourceVersion: '{now}' }),
  watch('/api/v1/namespaces', { ...short, resourceVersion: '0' }),
  watch('/api/v1/nodes', { ...short, resourceVersion: '0' }),
  watch('/api/v1/watch/namespaces/matrix/configmaps', { ...short, watch: undefined }),
  watch('/api/v1/watch/namespaces/matrix/configmaps/m-a', { ...short, watch: undefined }),
  watch(`${matrix}/m-a`, { ...short, resourceVersion: '0' }),
]

const refused: readonly Unplaced[] = [
  watch(matrix, { resourceVersion: 'abc' }),
  watch(matrix, { resourceVersion: '-1' }),
  watch(matrix, { timeoutSeconds: 'abc' }),
  watch(matrix, { ...short, continue: 'abc' }),
  watch(matrix, { ...short, resourceVersion: '5', resourceVersionMatch: 'Exact' }),
  watch(matrix, { ...short, labelSelector: '==' }),
  watch(matrix, { ...short, fieldSelector: 'no.such=x' }),
  watch(matrix, short, { accept: 'text/html' }),
  watch('/api/v1/nothing', short),
  watch('/api/v1/namespaces/matrix/nothing', short),
]

const list = { sendInitialEvents: 'true', allowWatchBookmarks: 'true', ...short }
const valid = { ...list, resourceVersionMatch: 'NotOlderThan' }

const initialEvents: readonly Unplaced[] = [
  watch(matrix, valid),
  watch(matrix, { ...valid, resourceVersion: '' }),
  watch(matrix, { ...valid, resourceVersion: '0' }),
  watch(matrix, { ...valid, resourceVersion: '{created}' }),
  watch(matrix, { ...valid, resourceVersion: '{future}', timeoutSeconds: '5' }),
  watch(matrix, { ...valid, resourceVersion: 'abc' }),
  watch(matrix, { ...valid, allowWatchBookmarks: undefined }),
  watch(matrix, { ...valid, sendInitialEvents: 'false' }),
  watch(matrix, { ...valid, sendInitialEvents: 'false', resourceVersion: '{created}' }),
  watch(matrix, list),
  watch(matrix, { ...list, resourceVersionMatch: 'Exact' }),
  watch(matrix, { ...list, resourceVersionMatch: 'Bogus' }),
  watch(matrix, { ...valid, continue: 'abc' }),
  watch(matrix, { ...valid, labelSelector: 'v=1' }),
  watch('/api/v1/namespaces/empty-ns/configmaps', valid),
  watch(widgets, valid),
  watch(events, valid),
  ...[protobuf, table, metadata, yaml].map(accept => watch(matrix, valid, { accept })),
]

const bookmarks: readonly Unplaced[] = [
  watch(matrix, { resourceVersion: '{now}', allowWatchBookmarks: 'true', timeoutSeconds: '4' }),
  watch(widgets, { resourceVersion: '{now}', allowWatchBookmarks: 'true', timeoutSeconds: '4' }),
  watch(events, { resourceVersion: '{now}', allowWatchBookmarks: 'true', timeoutSeconds: '4' }),
  watch(matrix, { resourceVersion: '{created}', allowWatchBookmarks: 'true', timeoutSeconds: '1' }),
]

function inForms(): Unplaced[] {
  const forms = [
    json,
    yaml,
    protobuf,
    table,
    metadata,
    `${protobuf},${json}`,
    `${json};stream=watch`,
  ]
  return forms.map(accept => watch(matrix, whileChanged, { accept }))
}

const selecting: readonly Unplaced[] = [
  ...['v=1', 'v=2', 'v!=1', '!v', 'v in (1,2)', 'half=lo'].map(labelSelector =>
    watch(matrix, { ...whileChanged, labelSelector }),
  ),
  watch(matrix, { ...whileChanged, fieldSelector: 'metadata.name=watched' }),
  watch(matrix, { ...whileChanged, fieldSelector: 'metadata.name!=watched' }),
  watch('/api/v1/configmaps', { ...whileChanged, labelSelector: 'v=1' }, { accept: table }),
  watch(matrix, { ...whileChanged, labelSelector: 'v=1' }, { accept: metadata }),
]

const custom: readonly Unplaced[] = [
  watch(widgets, whileChanged),
  watch(widgets, whileChanged, { accept: table }),
  watch(widgets, whileChanged, { accept: protobuf }),
  watch(widgets, { ...whileChanged, fieldSelector: 'spec.color=red' }),
]

/** A ConfigMap and a Widget come, enter and leave selections, and go. */
function changes(recorder: Recorder): { what: string; run: () => Promise<void> } {
  const name = 'watched'
  const metadata = { name, labels: { v: '1' } }
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } }
  const patch = (path: string, body: object): Promise<unknown> =>
    recorder.tell('PATCH', `${path}/${name}`, body, mergePatch)
  return {
    what: 'a ConfigMap is relabelled, a Widget painted; both come and go',
    async run() {
      await recorder.tell('POST', matrix, { metadata, data: { a: '1' } })
      await recorder.tell('POST', widgets, { ...widget, spec: { color: 'red', size: 1 } })
      await patch(matrix, { metadata: { labels: { v: '2', half: 'lo' } } })
      await patch(widgets, { spec: { color: 'blue' } })
      await patch(matrix, { metadata: { labels: { v: null } } })
      await patch(widgets, { spec: { color: 'red' } })
      await patch(matrix, { metadata: { labels: { v: '1', half: 'hi' } } })
      await recorder.tell('DELETE', `${widgets}/${name}`)
      await recorder.tell('DELETE', `${matrix}/${name}`)
    },
  }
}
