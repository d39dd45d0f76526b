/** One object: its YAML, its Events and its last changes. */

import {
  type ListedKind,
  type ObjectPlace,
  pathOf,
  revisionBefore,
  selectorValue,
} from './addresses.ts'
import { ApiError, type ApiObject, ask, askJson, follow, messageOfError, persist } from './api.ts'
import { changesBetween, type PathChange, withoutManagedFields } from './changes.ts'
import { copyButton } from './copying.ts'
import { button, content, el, field, tell } from './elements.ts'
import { showEvents } from './events.ts'
import { relatedTo } from './related.ts'

const changesMax = 30
const changesBackMax = 5
const pathsMax = 40

/** Shows an object. `kinds` are those that it may name others of. */
export async function showObject(
  place: ObjectPlace,
  kinds: ReadonlyMap<string, ListedKind>,
): Promise<void> {
  if (place.kind.id === 'secrets') await consent(place.signal)
  if (place.signal.aborted) return
  // An object that does not exist shows nothing but that.
  content.replaceChildren()
  await new ObjectView(place, kinds).run()
}

/** Waits until the viewer asks for a Secret's contents: others may see the screen. */
async function consent(signal: AbortSignal): Promise<void> {
  tell('This is a Secret: anyone who sees the screen would read it')
  await new Promise<void>(done => {
    content.replaceChildren(button('Show its contents', done))
    signal.addEventListener('abort', () => done(), { once: true })
  })
}

class ObjectView {
  readonly #place: ObjectPlace
  readonly #kinds: ReadonlyMap<string, ListedKind>
  /** The list of nothing but this object, which can be watched and read at earlier revisions. */
  readonly #listUrl: string
  readonly #objectUrl: string
  readonly #yaml = el('pre', { tabindex: '0', role: 'region', 'aria-label': 'YAML' })
  readonly #related = el('ul', { class: 'related', 'aria-label': 'Related objects' })
  readonly #events = el('div')
  readonly #changes = el('ol', { class: 'changes', reversed: '' })
  readonly #notes = el('p', { class: 'soft' })
  readonly #managed = field('managedFields', 'checkbox', () => this.#drawYaml())
  #text = ''
  #isDrawn = false

  constructor(place: ObjectPlace, kinds: ReadonlyMap<string, ListedKind>) {
    this.#place = place
    this.#kinds = kinds
    const kindUrl = pathOf(place.kind, place.namespace)
    const fieldSelector = `metadata.name=${selectorValue(place.name)}`
    this.#listUrl = `${kindUrl}?${new URLSearchParams({ fieldSelector })}`
    this.#objectUrl = `${kindUrl}/${encodeURIComponent(place.name)}`
  }

  async run(): Promise<void> {
    const { signal } = this.#place
    await persist(signal, tell, async () => {
      let current = await askJson<ApiObject>(this.#objectUrl, 'application/json', signal)
      await this.#readYaml()
      tell('Live')
      if (!this.#isDrawn) this.#draw(current)
      await follow<ApiObject>({
        url: this.#listUrl,
        accept: 'application/json',
        revision: current.metadata.resourceVersion,
        signal,
        take: (type, object) => {
          this.#take(type, current, object)
          current = object
        },
      })
    })
  }

  #draw(object: ApiObject): void {
    this.#isDrawn = true
    const { name } = this.#place
    const yaml = [this.#managed.node, copyButton('Copy YAML', () => this.#yaml.textContent)]
    const tools = el('div', { class: 'tools' }, el('h3', {}, 'YAML'), ...yaml)
    const copies = [
      copyButton('Copy name', () => name),
      copyButton('Copy kubectl command', () => this.#command()),
    ]
    this.#drawRelated(object)
    content.replaceChildren(
      el('div', { class: 'tools' }, ...copies),
      this.#related,
      el('h3', {}, 'Events'),
      this.#events,
      el('h3', {}, 'Last changes'),
      this.#notes,
      this.#changes,
      tools,
      this.#yaml,
    )
    void showEvents(this.#place, this.#events)
    void this.#showEarlier(object)
  }

  /** The command that prints the object, for a shell. */
  #command(): string {
    const { kind, namespace, name } = this.#place
    const within = kind.isNamespaced ? ` --namespace ${quoted(namespace)}` : ''
    return `kubectl get ${kind.id} ${quoted(name)}${within} --output yaml`
  }

  #drawRelated(object: ApiObject): void {
    const items = relatedTo(object, this.#kinds).map(({ role, name, hash }) =>
      el('li', {}, `${role} `, el('a', { href: hash }, name)),
    )
    this.#related.replaceChildren(...items)
    this.#related.hidden = items.length === 0
  }

  async #readYaml(): Promise<void> {
    const answer = await ask(this.#objectUrl, 'application/yaml', this.#place.signal)
    this.#text = await answer.text()
    this.#drawYaml()
  }

  #drawYaml(): void {
    const { checked } = this.#managed.input
    this.#yaml.textContent = checked ? this.#text : withoutManagedFields(this.#text)
  }

  #take(type: string, before: ApiObject, object: ApiObject): void {
    const isDeleted = type === 'DELETED'
    const change = type === 'ADDED' ? 'created' : changesBetween(before, object)
    const { resourceVersion } = object.metadata
    this.#changes.prepend(changeOf(resourceVersion, isDeleted ? 'deleted' : change))
    while (this.#changes.children.length > changesMax) this.#changes.lastChild?.remove()
    tell(isDeleted ? 'Deleted: this is its last state' : 'Live')
    if (isDeleted) return
    this.#drawRelated(object)
    this.#readYaml().catch((error: unknown) => {
      const isDeletedSince = error instanceof ApiError && error.status === 404
      if (!this.#place.signal.aborted && !isDeletedSince) tell(messageOfError(error))
    })
  }

  /** Goes back from change to change: the list of this object at the revision before its last
   *  write shows what it was before. */
  async #showEarlier(object: ApiObject): Promise<void> {
    let later = object
    try {
      for (let i = 0; i < changesBackMax; i++) {
        const { resourceVersion } = later.metadata
        const at = revisionBefore(resourceVersion)
        if (at === undefined) return
        const earlier = await this.#stateAt(at)
        const isCreation = earlier === undefined || earlier.metadata.uid !== later.metadata.uid
        const change = isCreation ? 'created' : changesBetween(earlier, later)
        this.#changes.append(changeOf(resourceVersion, change))
        if (isCreation) return
        later = earlier
      }
      this.#notes.textContent = `The last ${changesBackMax} before you looked, and those since.`
    } catch (error) {
      if (this.#place.signal.aborted) return
      const isExpired = error instanceof ApiError && error.status === 410
      this.#notes.textContent = isExpired
        ? `The history before revision ${later.metadata.resourceVersion} is no longer known.`
        : messageOfError(error)
    }
  }

  async #stateAt(resourceVersion: string): Promise<ApiObject | undefined> {
    const query = new URLSearchParams({ resourceVersion, resourceVersionMatch: 'Exact' })
    const { items } = await askJson<{ items?: readonly ApiObject[] }>(
      `${this.#listUrl}&${query}`,
      'application/json',
      this.#place.signal,
    )
    return items?.[0]
  }
}

function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

function changeOf(revision: string, change: string | readonly PathChange[]): HTMLElement {
  const lines = typeof change === 'string' ? [el('li', {}, change)] : linesOf(change)
  return el('li', {}, `Revision ${revision}`, el('ul', {}, ...lines))
}

function linesOf(changes: readonly PathChange[]): HTMLElement[] {
  if (changes.length === 0) return [el('li', {}, 'nothing but managedFields')]
  const lines = changes.slice(0, pathsMax).map(({ path, before, after }) => {
    const old = before === undefined ? [] : [el('del', {}, before.slice(0, 300)), ' ']
    const fresh = after === undefined ? [] : [el('ins', {}, after.slice(0, 300))]
    return el('li', {}, el('code', {}, path), ' ', ...old, ...fresh)
  })
  const left = changes.length - lines.length
  return left > 0 ? [...lines, el('li', {}, `${left} more places`)] : lines
}
