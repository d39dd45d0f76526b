/** A folder that `kubectl cluster-info dump --output-directory` or must-gather has written: files
 *  of JSON or YAML in any depth, each with an object or a list. Their objects are all that there
 *  was at one time; other files, such as logs, are not read. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  CacheError,
  isObject,
  objectOf,
  textOf,
  type UntypedObject,
  yamlValues,
} from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import type { HistoryStep } from '@watchglass/simulator'
import { load } from '../../compose/loaded-code.ts'
import { unreadable } from './recorded-file.ts'

/** Far above what a dump of a large cluster has in one file. */
const fileMaxBytes = 256 * 1024 * 1024
/** Deeper folders are none of a dump's: they may be links in a circle. */
const depthMax = 16

type Forms = Awaited<ReturnType<(typeof load)['foreignRecordings']>>

/** Yields everything as one base. Whatever cannot be stored is told to `onLeftOut`. */
export async function* readDump(
  path: string,
  onLeftOut: (reason: string, count: number) => void,
): AsyncGenerator<HistoryStep> {
  const dump = new Dump(await load.foreignRecordings())
  try {
    const files = await filesIn(path)
    const early = await dump.add(files)
    // Kinds that a definition in a later file has made known.
    await dump.add(early, { isLast: true })
  } catch (error) {
    throw unreadable(path, error)
  }
  yield* dump.finish()
  for (const [reason, count] of dump.leftOut) onLeftOut(reason, count)
}

/** The files of objects in a folder and those in it, in the order of their names. */
async function filesIn(folder: string, depth = 0): Promise<string[]> {
  const found: string[] = []
  const entries = await readdir(folder, { withFileTypes: true })
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && depth < depthMax) found.push(...(await filesIn(path, depth + 1)))
    else if (entry.isFile() && /\.(?:json|ya?ml)$/.test(entry.name)) found.push(path)
  }
  return found
}

class Dump {
  readonly #forms: Pick<Forms, 'listedObjects' | 'namespaceObject'>
  readonly #history: InstanceType<Forms['ObjectHistory']>
  readonly #nowMs = systemClock.wallMs()
  /** Namespaces that objects are in, and those that the dump has. */
  readonly #used = new Set<string>()
  readonly #namespaces = new Set<string>()

  constructor(forms: Forms) {
    this.#forms = forms
    this.#history = new forms.ObjectHistory()
  }

  get leftOut(): ReadonlyMap<string, number> {
    return this.#history.leftOut
  }

  /** Stores the objects of known kinds. The files that have others; at the last call their
   *  objects are left out. */
  async add(files: readonly string[], { isLast = false } = {}): Promise<string[]> {
    const others: string[] = []
    for (const file of files) {
      const objects = await this.#objectsIn(file, isLast)
      const unknown = objects.filter(object => !this.#history.isKnown(object))
      // Read a second time rather than kept: a dump may be larger than memory.
      if (unknown.length > 0 && !isLast) others.push(file)
      const known = isLast ? objects : objects.filter(object => this.#history.isKnown(object))
      for (const object of known) this.#put(object)
      await systemClock.yield()
    }
    return others
  }

  /** A dump of kubectl has no namespaces: without them nothing could be written into them. */
  *finish(): Generator<HistoryStep> {
    for (const name of this.#used) {
      if (!this.#namespaces.has(name)) this.#put(this.#forms.namespaceObject(name))
    }
    const base = this.#history.base()
    if (base !== undefined) yield base
  }

  #put(object: UntypedObject): void {
    const place = this.#history.placeOf(object)
    if (place === undefined) return
    const { name, namespace } = objectOf(object['metadata'])
    if (object['kind'] === 'Namespace' && object['apiVersion'] === 'v1') {
      this.#namespaces.add(textOf(name))
    }
    if (textOf(namespace) !== '') this.#used.add(textOf(namespace))
    this.#history.put(place, object, this.#nowMs)
  }

  /** The objects in a file. Files of another purpose are in such folders, too: what has no kind is
   *  passed over. */
  async #objectsIn(file: string, isAgain: boolean): Promise<UntypedObject[]> {
    const documents = await this.#documentsIn(file, isAgain)
    return documents
      .filter(isObject)
      .flatMap(document => this.#forms.listedObjects(document))
      .filter(({ kind, apiVersion }) => textOf(kind) !== '' && textOf(apiVersion) !== '')
  }

  async #documentsIn(file: string, isAgain: boolean): Promise<unknown[]> {
    const leaveOut = (reason: string): unknown[] => {
      if (!isAgain) this.#history.leaveOut(reason)
      return []
    }
    const { size } = await stat(file)
    if (size > fileMaxBytes) return leaveOut(`a file has more than ${String(fileMaxBytes)} bytes`)
    const text = await readFile(file, 'utf8')
    try {
      return file.endsWith('.json') ? [JSON.parse(text) as unknown] : yamlValues(text)
    } catch (error) {
      const { message } = CacheError.from(error, 'invalid_request')
      return leaveOut(
        `a file cannot be read as ${file.endsWith('.json') ? 'JSON' : 'YAML'}: ${message}`,
      )
    }
  }
}
