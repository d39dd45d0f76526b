/** Reads the settings of all clusters from what `--clusters` names: a folder in which each file is
 *  a cluster (its kubeconfig, or a mapping of its options), or a file with a list of clusters.
 *
 *  Files are read again only when their times, sizes or places have changed, so that a folder of
 *  hundreds costs a look at each. What is wrong with one cluster keeps no other from being read. */

import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { CacheError, Slice } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import type { Option } from '../../options/option.ts'
import { invalid } from '../../options/invalid.ts'
import { type ClusterEntry, entriesIn, mappingIn } from './cluster-entries.ts'
import { type ClusterSettings, settingsOf } from './cluster-settings.ts'

/** The settings of now. */
export interface ReadSettings {
  readonly clusters: readonly ClusterSettings[]
  /** The reasons that clusters are not among them. */
  readonly problems: readonly SettingsProblem[]
}

export interface SettingsProblem {
  /** The cluster that it is about, as far as that is known. */
  readonly name: string | undefined
  readonly text: string
}

/** Bounds of what a folder or a file may have. */
const clustersMax = 10_000
const fileMaxBytes = 8 * 1024 * 1024
const kubeconfigMaxBytes = 1024 * 1024

/** Endings of files that are not part of a cluster's name. */
const ending = /\.(?:ya?ml|json|kubeconfig|conf|config)$/

interface Kept {
  readonly mark: string
  readonly value: unknown
}

export class SettingsReader {
  readonly #path: string
  readonly #options: ReadonlyMap<string, Option>
  readonly #check: (settings: ClusterSettings) => void
  #kept = new Map<string, Kept>()
  #before = new Map<string, Kept>()

  /** @param options those that clusters may have
   *  @param check fails for settings that cannot be used */
  constructor(
    path: string,
    options: ReadonlyMap<string, Option>,
    check: (settings: ClusterSettings) => void,
  ) {
    this.#path = resolve(path)
    this.#options = options
    this.#check = check
  }

  /** Fails if nothing can be read: the folder or the file is not there, or is no YAML. */
  async read(): Promise<ReadSettings> {
    this.#before = this.#kept
    this.#kept = new Map()
    try {
      const { isFolder } = await statOf(this.#path)
      return isFolder ? await this.#folder() : await this.#file()
    } catch (error) {
      for (const [path, kept] of this.#before) if (!this.#kept.has(path)) this.#kept.set(path, kept)
      const { message } = CacheError.from(error, 'invalid_request')
      throw invalid(`--clusters ${this.#path} cannot be read: ${message}`, error)
    }
  }

  async #folder(): Promise<ReadSettings> {
    // Names with a dot in front are those by which Kubernetes swaps mounted Secrets.
    const files = (await readdir(this.#path)).filter(name => !name.startsWith('.')).toSorted()
    if (files.length > clustersMax) throw invalid(`more than ${clustersMax} files`)
    const reading = files.map(file => ({ file, name: basename(file).replace(ending, '') }))
    return this.#gathered(reading, ({ file, name }) => this.#fileOfCluster(file, name))
  }

  async #file(): Promise<ReadSettings> {
    const entries = await this.#read(this.#path, fileMaxBytes, entriesIn)
    if (entries.length > clustersMax) throw invalid(`more than ${clustersMax} clusters`)
    const folder = dirname(this.#path)
    return this.#gathered(entries, ({ name, entry }) => {
      const settings = settingsOf(name, entry, { folder, options: this.#options })
      return this.#digested(settings)
    })
  }

  async #gathered<T extends { readonly name: unknown }>(
    all: readonly T[],
    read: (one: T) => Promise<ClusterSettings | undefined>,
  ): Promise<ReadSettings> {
    const clusters = new Map<string, ClusterSettings>()
    const problems: SettingsProblem[] = []
    const slice = new Slice(systemClock)
    for (const one of all) {
      await slice.giveWay()
      const name = typeof one.name === 'string' ? one.name : undefined
      try {
        const settings = await read(one)
        if (settings === undefined) continue
        this.#check(settings)
        if (clusters.has(settings.name)) {
          throw invalid(`there are two clusters with the name ${settings.name}`)
        }
        clusters.set(settings.name, settings)
      } catch (error) {
        problems.push({ name, text: CacheError.from(error, 'invalid_request').message })
      }
    }
    return { clusters: [...clusters.values()], problems }
  }

  /** Undefined for a folder. */
  async #fileOfCluster(file: string, name: string): Promise<ClusterSettings | undefined> {
    const path = join(this.#path, file)
    if ((await statOf(path)).isFolder) return undefined
    const { mapping, digest } = await this.#read(path, kubeconfigMaxBytes, bytes => ({
      mapping: mappingIn(bytes.toString('utf8')),
      digest: digestOf(bytes),
    }))
    const place = { folder: this.#path, options: this.#options }
    if (isKubeconfig(mapping)) return { ...settingsOf(name, { kubeconfig: path }, place), digest }
    return this.#digested(settingsOf(name, mapping, place))
  }

  /** A cluster is opened anew when its kubeconfig has other contents. One that is not there is a
   *  problem of its start. */
  async #digested(settings: ClusterSettings): Promise<ClusterSettings> {
    const [path] = settings.options['kubeconfig'] ?? []
    if (path === undefined) return settings
    const digest = await this.#read(path, kubeconfigMaxBytes, digestOf).catch(() => undefined)
    return { ...settings, digest }
  }

  /** Reads a file by `make`, again only if it has changed. */
  async #read<T>(
    path: string,
    maxBytes: number,
    make: (bytes: Buffer) => T | Promise<T>,
  ): Promise<T> {
    const { mark, size } = await statOf(path)
    const key = `${path}\0${maxBytes}`
    const known = this.#before.get(key)
    if (known?.mark === mark) {
      this.#kept.set(key, known)
      return known.value as T
    }
    if (size > maxBytes) throw invalid(`${path} has more than ${maxBytes} bytes`)
    const value = await make(await readFile(path))
    this.#kept.set(key, { mark, value })
    return value
  }
}

interface FileFacts {
  readonly isFolder: boolean
  readonly size: number
  /** Changes when the file does. */
  readonly mark: string
}

async function statOf(path: string): Promise<FileFacts> {
  const facts = await stat(path)
  const { size, mtimeMs, ctimeMs, ino } = facts
  if (!facts.isDirectory() && !facts.isFile()) throw invalid(`${path} is neither file nor folder`)
  return { isFolder: facts.isDirectory(), size, mark: [size, mtimeMs, ctimeMs, ino].join() }
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64')
}

function isKubeconfig(mapping: ClusterEntry['entry']): boolean {
  return mapping['kind'] === 'Config' || Array.isArray(mapping['contexts'])
}
