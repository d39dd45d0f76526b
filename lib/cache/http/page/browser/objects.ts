/** The script of the page's objects: shows the place that the address names. Each place has an
 *  address behind `#/`, so that Back works, and leaving a place ends its requests. */

import { hashOf, type ListedKind, type PagePlace, placeOf, questionOf } from './addresses.ts'
import { findKinds, messageOfError } from './api.ts'
import { content, el, elementOf, tell } from './elements.ts'
import { showKinds } from './kinds.ts'
import { ObjectList } from './list.ts'
import { showObject } from './object.ts'

const view = elementOf('objects')
/** The figures of the process, on a page that shows both. */
const figures = document.getElementById('figures')
const heading = elementOf('objects-title')
const way = elementOf('objects-way')
const kindsPlace: PagePlace = { kind: '', namespace: '', name: '' }

let known: ReadonlyMap<string, ListedKind> = new Map()
let visit = new AbortController()
/** The list that is looked at. */
let shown: { readonly hash: string; readonly list: ObjectList } | undefined

async function go(): Promise<void> {
  const place = placeOf(location.hash) ?? (figures === null ? kindsPlace : undefined)
  if (
    place !== undefined &&
    place.kind !== '' &&
    shown?.hash === hashOf(place.kind, place.namespace, place.name)
  ) {
    shown.list.apply(questionOf(location.hash))
    return
  }
  visit.abort()
  shown = undefined
  visit = new AbortController()
  const { signal } = visit
  view.hidden = place === undefined
  if (figures !== null) figures.hidden = place !== undefined
  document.body.toggleAttribute('data-objects', place !== undefined)
  content.replaceChildren()
  if (place === undefined) {
    document.title = 'Watchglass'
    document.getElementById(location.hash.slice(1))?.scrollIntoView()
    return
  }
  drawHead(place)
  try {
    await show(place, signal)
  } catch (error) {
    if (!signal.aborted) tell(messageOfError(error))
  }
}

async function show({ kind: id, namespace, name }: PagePlace, signal: AbortSignal): Promise<void> {
  if (id === '' || !known.has(id)) known = await findKinds(signal)
  if (signal.aborted) return
  const kind = known.get(id)
  if (id === '') showKinds(known)
  else if (kind === undefined) tell('The server does not serve this kind')
  else if (name === '') {
    const question = questionOf(location.hash)
    const list = new ObjectList({ kind, namespace, question, signal })
    shown = { hash: hashOf(id, namespace), list }
    await list.run()
  } else await showObject({ kind, namespace, name, signal }, known)
}

function drawHead({ kind: id, namespace, name }: PagePlace): void {
  const title = name || id || 'Objects'
  heading.textContent = title
  document.title = `${title} – Watchglass`
  const links: [hash: string, text: string][] = [['#/', 'All kinds']]
  if (id !== '') links.push([hashOf(id), id])
  if (namespace !== '') links.push([hashOf(id, namespace), namespace])
  way.replaceChildren(...links.map(([href, text]) => el('li', {}, el('a', { href }, text))))
  tell('Loading')
  scrollTo(0, 0)
  heading.focus({ preventScroll: true })
}

document.querySelector('.skip')?.addEventListener('click', event => {
  if (!document.body.hasAttribute('data-objects')) return
  event.preventDefault()
  heading.focus()
})
/** `/` leads to the search, as on other pages. */
addEventListener('keydown', event => {
  const { key, ctrlKey, metaKey, altKey, target } = event
  const isText = target instanceof HTMLElement && target.matches('input, textarea, select')
  if (key !== '/' || ctrlKey || metaKey || altKey || isText) return
  const search = view.querySelector<HTMLInputElement>('input[type=search]')
  if (search === null || view.hidden) return
  event.preventDefault()
  search.focus()
})
addEventListener('hashchange', () => void go())
void go()
