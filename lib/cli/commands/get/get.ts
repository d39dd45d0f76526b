/** `watchglass get`: a view as a table, JSON or CSV; also live. */

import { CacheError } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import { getOptions, limitOption, outputOption, serverOption } from '../../options/get.ts'
import { invalid } from '../../options/invalid.ts'
import { checkRules, valueOf } from '../../options/rules.ts'
import type { CommandContext } from '../context.ts'
import { linesIn } from '../lines.ts'
import { type AskedResource, findResource } from './asked-resource.ts'
import { type ChangeDocument, changedView, type ViewDocument } from './view-document.ts'
import { ViewServer } from './view-server.ts'
import { csvText, tableText } from './view-text.ts'

/** The largest page. */
const pageMaxRows = 1_000
/** The rows of a live page where nothing is said. */
const liveRows = 50
const lineMaxBytes = 256 * 1024 * 1024

type Form = 'table' | 'json' | 'csv'

export async function get(context: CommandContext): Promise<number> {
  const { values, operands, logger, signal, stdout } = context
  const [word, another] = operands
  if (word === undefined || another !== undefined) {
    throw invalid('get needs one RESOURCE, such as pods or deployments.apps')
  }
  checkRules(values, getOptions)
  const form = valueOf(values, outputOption) ?? (stdout.isTTY ? 'table' : 'json')
  const server = await ViewServer.open({
    server: valueOf(values, serverOption),
    kubeconfig: values.text('kubeconfig'),
    context: values.text('context'),
    logger,
    signal,
  })
  try {
    const resource = await findResource(server, word)
    const limit = valueOf(values, limitOption)
    const path = pathOf(resource, namespaceOf(context, server))
    const query = queryOf(context)
    if (values.switch('watch')) {
      await follow(server, `${path}?${liveQuery(query, limit).toString()}`, form, context)
    } else stdout.write(textOf(await read(server, path, query, limit), form))
    return 0
  } catch (error) {
    if (signal.aborted) return 0
    throw error
  } finally {
    await server.close()
  }
}

function namespaceOf({ values }: CommandContext, server: ViewServer): string {
  if (values.switch('all-namespaces')) return ''
  return values.text('namespace') ?? server.namespace
}

function pathOf(
  { group, version, resource, isNamespaced }: AskedResource,
  namespace: string,
): string {
  const root = group === '' ? ['api', version] : ['apis', group, version]
  const within = isNamespaced && namespace !== '' ? ['namespaces', namespace] : []
  return `/views/${[...root, ...within, resource].map(encodeURIComponent).join('/')}`
}

/** The parameters of a view by the options that give them. */
const parameters: Readonly<Record<string, string>> = {
  columns: 'columns',
  where: 'where',
  search: 'search',
  selector: 'labelSelector',
  'field-selector': 'fieldSelector',
  sort: 'sort',
  'count-by': 'countBy',
}

function queryOf({ values }: CommandContext): URLSearchParams {
  const query = new URLSearchParams()
  for (const [option, parameter] of Object.entries(parameters)) {
    const text = values.text(option)
    if (text !== undefined) query.set(parameter, text)
  }
  return query
}

function liveQuery(query: URLSearchParams, limit = liveRows): URLSearchParams {
  if (limit > pageMaxRows) {
    throw invalid(`--limit ${limit}: a live page has at most ${pageMaxRows} rows`)
  }
  const live = new URLSearchParams(query)
  live.set('watch', '1')
  if (!live.has('countBy')) live.set('pageSize', String(limit))
  return live
}

/** All rows that are wanted, page after page of one revision. */
async function read(
  server: ViewServer,
  path: string,
  query: URLSearchParams,
  limit = Number.POSITIVE_INFINITY,
): Promise<ViewDocument> {
  if (query.has('countBy')) return (await server.get(`${path}?${query.toString()}`)) as ViewDocument
  const pageSize = Math.min(limit, pageMaxRows)
  query.set('pageSize', String(pageSize))
  const first = (await server.get(`${path}?${query.toString()}`)) as ViewDocument
  const rows = [...(first.rows ?? [])]
  const wanted = Math.min(limit, first.matched)
  query.set('revision', first.revision)
  for (let page = 2; rows.length < wanted; page++) {
    query.set('page', String(page))
    const next = (await server.get(`${path}?${query.toString()}`)) as ViewDocument
    if (next.rows === undefined || next.rows.length === 0) break
    rows.push(...next.rows)
  }
  const shown = rows.slice(0, limit)
  return { ...first, rows: shown, remaining: first.matched - shown.length }
}

function textOf(view: ViewDocument, form: Form): string {
  switch (form) {
    case 'table':
      return tableText(view, systemClock.wallMs())
    case 'csv':
      return csvText(view)
    case 'json':
      return `${JSON.stringify(view)}\n`
  }
}

/** Shows the page anew whenever it changes, or passes its documents on. */
async function follow(
  server: ViewServer,
  path: string,
  form: Form,
  { signal, stdout }: CommandContext,
): Promise<void> {
  // Waits until the resource is mirrored.
  await server.get(path.replace('watch=1', 'watch=0'))
  let view: ViewDocument | undefined
  for await (const line of linesIn(server.stream(path), lineMaxBytes)) {
    if (form === 'json') stdout.write(`${line}\n`)
    const document = JSON.parse(line) as LiveDocument
    if (document.type === 'ERROR') {
      throw new CacheError('upstream_failed', document.object?.message ?? 'the live page has ended')
    }
    if (form === 'json' || document.type === 'BOOKMARK') continue
    view = view === undefined || document.type === 'PAGE' ? document : changedView(view, document)
    redraw(view, stdout)
  }
  if (!signal.aborted) throw new CacheError('upstream_failed', 'the server has ended the live page')
}

type LiveDocument = ViewDocument &
  ChangeDocument & {
    readonly type: string
    readonly object?: { readonly message?: string }
  }

/** On a terminal in place of the last table, elsewhere below it. */
function redraw(view: ViewDocument, stdout: CommandContext['stdout']): void {
  const text = tableText(view, systemClock.wallMs())
  stdout.write(stdout.isTTY ? `\u001b[H\u001b[2J${text}` : `${text}\n`)
}
