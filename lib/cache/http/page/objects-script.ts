/** The script of objects. It asks the Kubernetes API of the same listener, in the browser, as the
 *  caller who looks: this process shows nothing that it would not answer them anyway. Whatever
 *  comes is made into text nodes, never into HTML. Each place of the page has an address behind
 *  `#/`, so that one can go back, and leaving it ends what it asked for. */

import { objectsTexts } from './objects-texts.ts'

const asking = String.raw`
const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const discoveryType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const lineMaxChars = 16 * 1024 * 1024

function failureOf(status, message) {
  return Object.assign(new Error(message), { status })
}

async function ask(url, accept, signal) {
  const answer = await fetch(url, { headers: { accept }, cache: 'no-store', redirect: 'error', signal })
  if (answer.ok) return answer
  const text = await answer.text()
  let message = text
  try { message = JSON.parse(text).message } catch { /* It is the text itself. */ }
  throw failureOf(answer.status, String(message || 'status ' + answer.status).trim().slice(0, 500))
}

async function askJson(url, accept, signal) {
  return (await ask(url, accept, signal)).json()
}

function wait(ms, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => { clearTimeout(timer); fail(signal.reason) }, { once: true })
  })
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    if (rest.length > lineMaxChars) throw new Error('an event is too long')
    yield* lines
  }
}

/** Hands on what changes after a revision, until the signal or a failure. */
async function follow({ url, accept, revision, signal, take }) {
  let last = revision
  for (;;) {
    const query = new URLSearchParams({ watch: '1', allowWatchBookmarks: 'true', resourceVersion: last })
    const answer = await ask(url + (url.includes('?') ? '&' : '?') + query, accept, signal)
    for await (const line of linesOf(answer.body)) {
      const { type, object } = JSON.parse(line)
      if (type === 'ERROR') throw failureOf(object.code, String(object.message))
      const of = object.kind === 'Table' ? object.rows?.[0]?.object : object
      last = of?.metadata?.resourceVersion || last
      if (type !== 'BOOKMARK') take(type, object)
    }
    await wait(1000, signal)
  }
}

/** Begins again what fails for a while, until the signal. What is forbidden stays so. */
async function keep(signal, work) {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (signal.aborted) return
      const isFinal = [400, 401, 403, 404, 405, 406].includes(error.status)
      if (error.status !== 410) tell((isFinal ? '' : 'Not live, trying again: ') + error.message)
      if (isFinal) return
    }
    try { await wait(2000, signal) } catch { return }
  }
}

let known = new Map()
async function findKinds(signal) {
  const documents = await Promise.all(['/api', '/apis'].map(path => askJson(path, discoveryType, signal)))
  known = new Map(documents.flatMap(document => [...kindsOf(document)]))
  return known
}
`

const drawing = String.raw`
const view = document.getElementById('objects')
const figures = document.getElementById('figures')
const heading = document.getElementById('objects-title')
const way = document.getElementById('objects-way')
const state = document.getElementById('objects-state')
const content = document.getElementById('objects-content')
const rowsShown = 500

function el(name, attributes = {}, ...children) {
  const one = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value)
  one.append(...children)
  return one
}

function tell(text) {
  if (state.textContent !== text) state.textContent = text
}

function button(text, act) {
  const one = el('button', { type: 'button' }, text)
  one.onclick = act
  return one
}

function field(label, type, act) {
  const input = el('input', { type, autocomplete: 'off', spellcheck: 'false' })
  input[type === 'search' ? 'oninput' : 'onchange'] = () => act(input)
  return { input, node: el('label', {}, type === 'checkbox' ? input : label + ' ', type === 'checkbox' ? ' ' + label : input) }
}

/** A table that can be sorted. Rows have a key; a row that is the same object is drawn once. What
 *  is focused stays so. */
function tableOf(caption, columns) {
  let rows = []
  let sort
  let drawn = new Map()
  const more = el('p', { class: 'soft' })
  const body = el('tbody')
  const heads = columns.map((column, i) => {
    const head = el('th', { scope: 'col', class: column.isFigure ? 'figure' : 'text' }, button(column.title, () => {
      sort = { i, down: sort?.i === i && !sort.down }
      for (const one of heads) one.removeAttribute('aria-sort')
      head.setAttribute('aria-sort', sort.down ? 'descending' : 'ascending')
      draw()
    }))
    if (column.about) head.title = column.about
    head.firstChild.className = 'sort'
    return head
  })
  const rowOf = row => el('tr', {}, ...columns.map(({ cell, isHead, isFigure }) => {
    const text = cell(row)
    const name = isHead ? 'th' : 'td'
    return el(name, { ...(isHead ? { scope: 'row' } : {}), class: isFigure ? 'figure' : 'text' },
      isHead && row.hash ? el('a', { href: row.hash }, text) : text)
  }))
  function draw() {
    const sign = sort?.down ? -1 : 1
    const sorted = sort === undefined ? rows : rows.toSorted((a, b) => sign * compareCells(columns[sort.i].cell(a), columns[sort.i].cell(b)))
    const fresh = new Map()
    for (const row of sorted.slice(0, rowsShown)) {
      const before = drawn.get(row.key)
      fresh.set(row.key, before?.row === row ? before : { row, node: rowOf(row) })
    }
    const active = [...drawn].find(([, { node }]) => node.contains(document.activeElement))
    for (const [key, { node }] of drawn) if (fresh.get(key)?.node !== node) node.remove()
    let i = 0
    for (const { node } of fresh.values()) {
      if (body.children[i] !== node) body.insertBefore(node, body.children[i] ?? null)
      i++
    }
    if (active) fresh.get(active[0])?.node.querySelector('a')?.focus({ preventScroll: true })
    drawn = fresh
    const left = rows.length - fresh.size
    more.textContent = left > 0 ? left + ' more are not drawn: search for fewer.' : ''
  }
  const table = el('table', {}, el('caption', { class: 'unseen' }, caption), el('thead', {}, el('tr', {}, ...heads)), body)
  const node = el('div', {}, el('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: '0' }, table), more)
  return { node, show: next => { rows = next; draw() } }
}

function columnsOf(definitions, isWide, before = []) {
  const columns = definitions.map((one, i) => ({ ...one, i })).filter(({ priority }) => isWide || !priority)
  return [...before, ...columns.map(({ name, type, description, i }) => ({
    title: name,
    about: description,
    isFigure: type === 'integer' || type === 'number',
    isHead: i === 0 && before.every(({ isHead }) => !isHead),
    cell: ({ row }) => String(row.cells?.[i] ?? ''),
  }))]
}
`

const places = String.raw`
const chunk = 250
const rowsMax = 10000

async function showKinds({ signal }) {
  const kinds = [...(await findKinds(signal)).values()].map(kind => ({ key: kind.id, hash: hashOf(kind.id), kind }))
  const table = tableOf('Kinds', [
    { title: 'Kind', isHead: true, cell: ({ kind }) => kind.resource },
    { title: 'Group', cell: ({ kind }) => kind.group },
    { title: 'Version', cell: ({ kind }) => kind.version },
    { title: 'Objects are', cell: ({ kind }) => (kind.isNamespaced ? 'in namespaces' : 'of the cluster') },
  ])
  const search = field('Search', 'search', ({ value }) => table.show(kinds.filter(({ key }) => key.includes(value.toLowerCase()))))
  content.replaceChildren(el('div', { class: 'tools' }, search.node), table.node)
  table.show(kinds)
  tell(kinds.length + ' kinds')
}

/** The objects of a kind: chunks of one list, which the server answers at one revision, and what
 *  has changed since. */
async function showList({ kind, namespace, signal }) {
  const url = pathOf(kind, namespace)
  const count = el('p', { class: 'soft' })
  const place = el('div')
  let [rows, touched, definitions, next, remaining, revision] = [new Map(), new Set(), [], '', 0, '']
  let table
  let timer
  const search = field('Search', 'search', () => draw())
  const wide = field('All columns', 'checkbox', () => makeTable())
  const within = field('Namespace', 'text', ({ value }) => { location.hash = hashOf(kind.id, value.trim()) })
  within.input.value = namespace
  const load = button('Load more', () => loading(chunk))
  const all = button('Load all', () => loading(rowsMax))
  content.replaceChildren(
    el('div', { class: 'tools' }, search.node, ...(kind.isNamespaced ? [within.node] : []), wide.node, load, all), count, place)

  function makeTable() {
    const ofNamespace = kind.isNamespaced && !namespace
    const name = { title: 'Namespace', cell: ({ row }) => row.object.metadata.namespace ?? '' }
    table = tableOf(kind.id, columnsOf(definitions, wide.input.checked, ofNamespace ? [name] : []))
    place.replaceChildren(table.node)
    draw()
  }
  function draw() {
    clearTimeout(timer)
    timer = undefined
    const text = search.input.value.toLowerCase()
    const found = text === '' ? [...rows.values()] : [...rows.values()].filter(({ words }) => words.includes(text))
    table?.show(found)
    const isMore = next !== ''
    load.hidden = all.hidden = !isMore || rows.size >= rowsMax
    count.textContent = (text === '' ? '' : found.length + ' found in ') + rows.size + ' loaded' +
      (isMore ? ', ' + (remaining > 0 ? remaining : 'some') + ' more at revision ' + revision : rows.size === 0 ? ': there are none' : ': all of them')
  }
  function put(row) {
    const { namespace: of = '', name } = row.object.metadata
    const key = of + '/' + name
    const words = [of, name, ...row.cells].join('\n').toLowerCase()
    rows.set(key, { key, hash: hashOf(kind.id, of, name), words, row })
  }
  async function read(limit) {
    const query = new URLSearchParams({ limit: String(limit), ...(next === '' ? {} : { continue: next }) })
    const answer = await askJson(url + '?' + query, tableType, signal)
    if (answer.kind !== 'Table') throw failureOf(406, 'the server does not answer this kind as a table')
    if (definitions.length === 0) definitions = answer.columnDefinitions
    next = answer.metadata.continue ?? ''
    remaining = answer.metadata.remainingItemCount ?? 0
    revision = answer.metadata.resourceVersion
    for (const row of answer.rows ?? []) {
      const { namespace: of = '', name } = row.object.metadata
      // What an event has told is newer than the list.
      if (!touched.has(of + '/' + name)) put(row)
    }
  }
  async function loading(more) {
    const wanted = Math.min(rowsMax, rows.size + more)
    load.disabled = all.disabled = true
    try {
      while (next !== '' && rows.size < wanted && !signal.aborted) { await read(Math.min(1000, wanted - rows.size)); draw() }
    } catch (error) {
      if (signal.aborted) return
      tell(error.status === 410 ? 'The rest of this list is too old for the server: it is read again' : error.message)
      if (error.status === 410) restart.abort()
    } finally {
      load.disabled = all.disabled = false
    }
  }
  function take(type, { rows: [row] = [] }) {
    if (row === undefined) return
    const { namespace: of = '', name } = row.object.metadata
    const key = of + '/' + name
    if (next !== '') touched.add(key)
    else touched.clear()
    if (type === 'DELETED') rows.delete(key)
    else put(row)
    if (rows.size + touched.size > 2 * rowsMax) throw failureOf(400, 'Not live any more: too much changes. Reload the page')
    timer ??= setTimeout(draw, 250)
  }
  let restart
  await keep(signal, async () => {
    for (;;) {
      restart = new AbortController()
      const wanted = rows.size
      const before = rows
      ;[rows, touched, next] = [new Map(), new Set(), '']
      try {
        await read(Math.max(chunk, Math.min(1000, wanted)))
      } catch (error) {
        rows = before
        throw error
      }
      if (table === undefined) makeTable()
      else draw()
      if (wanted > rows.size) await loading(wanted - rows.size)
      if (!kind.verbs.includes('watch')) return tell('This kind cannot be watched: reload for newer objects')
      tell('Live')
      try {
        await follow({ url, accept: tableType, revision, signal: AbortSignal.any([signal, restart.signal]), take })
      } catch (error) {
        if (!restart.signal.aborted || signal.aborted) throw error
        await wait(1000, signal)
      }
    }
  })
}

/** One object, its events and its last changes. */
async function showObject({ kind, namespace, name, signal }) {
  const one = pathOf(kind, namespace) + '/' + encodeURIComponent(name)
  const only = pathOf(kind, namespace) + '?' + new URLSearchParams({ fieldSelector: 'metadata.name=' + selectorValue(name) })
  const yaml = el('pre', { tabindex: '0', role: 'region', 'aria-label': 'YAML' })
  const events = el('div')
  const changes = el('ol', { class: 'changes', reversed: '' })
  const notes = el('p', { class: 'soft' })
  const managed = field('managedFields', 'checkbox', () => drawYaml())
  let text = ''
  const drawYaml = () => { yaml.textContent = managed.input.checked ? text : withoutManagedFields(text) }
  if (kind.id === 'secrets') {
    tell('This is a Secret: whoever sees the screen would read it')
    await new Promise(done => {
      content.replaceChildren(button('Show what is in it', done))
      signal.addEventListener('abort', done, { once: true })
    })
  }
  if (signal.aborted) return
  // Of one that is not there, only that is said.
  content.replaceChildren()
  let current
  let isBegun = false
  const readYaml = async () => {
    text = await (await ask(one, 'application/yaml', signal)).text()
    drawYaml()
  }
  await keep(signal, async () => {
    current = await askJson(one, 'application/json', signal)
    await readYaml()
    tell('Live')
    if (!isBegun) {
      isBegun = true
      content.replaceChildren(
        el('h3', {}, 'Events'), events, el('h3', {}, 'Last changes'), notes, changes,
        el('div', { class: 'tools' }, el('h3', {}, 'YAML'), managed.node), yaml)
      void showEvents({ kind, namespace, name, signal, place: events })
      void showEarlier({ only, object: current, signal, changes, notes })
    }
    await follow({
      url: only, accept: 'application/json', revision: current.metadata.resourceVersion, signal,
      take(type, object) {
        const isGone = type === 'DELETED'
        changes.prepend(changeOf(object.metadata.resourceVersion, isGone ? 'deleted' : type === 'ADDED' ? 'created' : changesBetween(current, object)))
        while (changes.children.length > changesMax) changes.lastChild.remove()
        current = object
        tell(isGone ? 'Deleted: this is what it was last' : 'Live')
        if (!isGone) readYaml().catch(error => { if (!signal.aborted && error.status !== 404) tell(error.message) })
      },
    })
  })
}

const changesMax = 30
const stepsBack = 5
const placesMax = 40

function changeOf(revision, what) {
  const list = typeof what === 'string' ? [el('li', {}, what)] : what.slice(0, placesMax).map(({ path, before, after }) =>
    el('li', {}, el('code', {}, path), ' ',
      ...(before === undefined ? [] : [el('del', {}, before.slice(0, 300)), ' ']),
      ...(after === undefined ? [] : [el('ins', {}, after.slice(0, 300))])))
  if (list.length === 0) list.push(el('li', {}, 'nothing but managedFields'))
  if (what.length > placesMax && typeof what !== 'string') list.push(el('li', {}, what.length - placesMax + ' more places'))
  return el('li', {}, 'Revision ' + revision, el('ul', {}, ...list))
}

/** Goes back from change to change: the list of this one object at the revision before it was
 *  written last is what it was before. */
async function showEarlier({ only, object, signal, changes, notes }) {
  let later = object
  try {
    for (let i = 0; i < stepsBack; i++) {
      const { resourceVersion } = later.metadata
      const at = revisionBefore(resourceVersion)
      if (at === undefined) return
      const query = new URLSearchParams({ resourceVersion: at, resourceVersionMatch: 'Exact' })
      const { items } = await askJson(only + '&' + query, 'application/json', signal)
      const [earlier] = items ?? []
      const isNew = earlier === undefined || earlier.metadata.uid !== later.metadata.uid
      changes.append(changeOf(resourceVersion, isNew ? 'created' : changesBetween(earlier, later)))
      if (isNew) return
      later = earlier
    }
    notes.textContent = 'The last ' + stepsBack + ' before you looked, and those since.'
  } catch (error) {
    if (signal.aborted) return
    notes.textContent = error.status === 410 ? 'What was before revision ' + later.metadata.resourceVersion + ' is no longer known.' : error.message
  }
}

async function showEvents({ kind, namespace, name, signal, place }) {
  const selector = 'involvedObject.kind=' + selectorValue(kind.kind) + ',involvedObject.name=' + selectorValue(name)
  const url = '/api/v1/' + (kind.isNamespaced ? 'namespaces/' + encodeURIComponent(namespace) + '/' : '') + 'events?' + new URLSearchParams({ fieldSelector: selector })
  let table
  const read = async () => {
    const answer = await askJson(url + '&limit=' + chunk, tableType, signal)
    const definitions = answer.columnDefinitions
    table ??= tableOf('Events', columnsOf(definitions, false))
    const rows = (answer.rows ?? []).map(row => ({ key: row.object.metadata.namespace + '/' + row.object.metadata.name, row }))
    if (rows.length === 0) place.replaceChildren(el('p', { class: 'soft' }, 'There are none.'))
    else if (table.node.parentNode !== place) place.replaceChildren(table.node)
    table.show(rows)
    return answer.metadata.resourceVersion
  }
  try {
    const revision = await read()
    let timer
    const later = () => { timer ??= setTimeout(() => { timer = undefined; read().catch(() => {}) }, 500) }
    await follow({ url, accept: tableType, revision, signal, take: later })
  } catch (error) {
    if (!signal.aborted) place.append(el('p', { class: 'soft' }, 'Events are not live: ' + error.message))
  }
}
`

const going = String.raw`
let visit = new AbortController()

async function go() {
  const place = placeOf(location.hash) ?? (figures ? undefined : { kind: '', namespace: '', name: '' })
  visit.abort()
  visit = new AbortController()
  const { signal } = visit
  const isHere = place !== undefined
  view.hidden = !isHere
  if (figures) figures.hidden = isHere
  document.body.toggleAttribute('data-objects', isHere)
  content.replaceChildren()
  if (!isHere) {
    document.title = 'Watchglass'
    document.getElementById(location.hash.slice(1))?.scrollIntoView()
    return
  }
  const { kind: id, namespace, name } = place
  heading.textContent = name || id || 'Objects'
  document.title = (name || id || 'Objects') + ' – Watchglass'
  const links = [['#/', 'All kinds'], ...(id ? [[hashOf(id), id]] : []), ...(namespace ? [[hashOf(id, namespace), namespace]] : [])]
  way.replaceChildren(...links.map(([href, text]) => el('li', {}, el('a', { href }, text))))
  tell('Loading')
  scrollTo(0, 0)
  heading.focus({ preventScroll: true })
  try {
    if (id === '') return await showKinds({ signal })
    const kind = known.get(id) ?? (await findKinds(signal)).get(id)
    if (signal.aborted) return
    if (kind === undefined) tell('The server does not serve this kind')
    else if (name) await showObject({ kind, namespace, name, signal })
    else await showList({ kind, namespace, signal })
  } catch (error) {
    if (!signal.aborted) tell(error.message)
  }
}

document.querySelector('.skip').onclick = event => {
  if (!document.body.hasAttribute('data-objects')) return
  event.preventDefault()
  heading.focus()
}
addEventListener('hashchange', go)
go()
`

export const objectsScript: string = [objectsTexts, asking, drawing, places, going].join('')
