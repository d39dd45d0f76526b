/** Words that take the place of others in a recording that leaves its company. The same word gets
 *  the same pseudonym wherever it stands, so that names still fit the references to them; two words
 *  never get one. A pseudonym has the length and the sort of characters of its word, so that names
 *  stay names, and base64 stays base64.
 *
 *  Words that Kubernetes itself uses stay, and so do numbers, sizes and times: without them an
 *  object would mean nothing. */

import type { MessageType, Schema } from '@watchglass/codec'

/** Bytes that follow from a text and a secret: the same for the same text. */
export type Digest = (text: string) => Uint8Array

/** Shorter words say nothing of anybody. */
const wordMinLength = 3

/** A time, an address, an id, a quantity, or a word. */
const pieces =
  /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[\p{L}\p{N}]+/gu

/** A bare number of more digits may be somebody's account or telephone. */
const quantity = /^(?:\d{1,8}(?:[EPTGMknum]|ms|s|h|d)?|\d{1,19}[EPTGMK]i)$/
const version = /^v\d{1,2}(?:(?:alpha|beta)\d{1,2})?$/

/** Words of three letters are soon used up: after so many tries a pseudonym may be longer. */
const triesMax = 50

export class Pseudonyms {
  readonly #digest: Digest
  readonly #known: ReadonlySet<string>
  readonly #pseudonyms = new Map<string, string>()
  readonly #taken = new Set<string>()

  constructor(digest: Digest, known: ReadonlySet<string>) {
    this.#digest = digest
    this.#known = known
  }

  /** The text with all its words replaced. */
  text(text: string): string {
    return text.replace(pieces, piece => this.#piece(piece))
  }

  /** A text that may hold secrets: nothing of it stays. */
  secret(text: string): string {
    return text.replace(/[\p{L}\p{N}]+/gu, word => charsOf(word, this.#digest(word), alphanumeric))
  }

  #piece(piece: string): string {
    if (piece.includes(':')) return piece
    if (piece.includes('.')) return this.#address(piece)
    if (piece.includes('-')) return this.#pseudonym(piece, hexadecimal)
    const isKept = piece.length < wordMinLength || quantity.test(piece) || version.test(piece)
    return isKept || this.#known.has(piece) ? piece : this.#pseudonym(piece, alphanumeric)
  }

  /** Addresses that mean the same everywhere stay. */
  #address(address: string): string {
    if (/^(?:0\.0\.0\.0|127\.|255\.|169\.254\.)/.test(address)) return address
    return this.#unique(address, bytes => `10.${bytes[0]}.${bytes[1]}.${bytes[2]}`)
  }

  #pseudonym(word: string, alphabet: Alphabet): string {
    return this.#unique(word, bytes => charsOf(word, bytes, alphabet))
  }

  #unique(word: string, make: (bytes: Uint8Array) => string): string {
    const known = this.#pseudonyms.get(word)
    if (known !== undefined) return known
    let pseudonym = make(this.#digest(word))
    for (let i = 1; this.#taken.has(pseudonym) || this.#known.has(pseudonym); i++) {
      pseudonym = make(this.#digest(`${i} ${word}`)) + (i > triesMax ? String(i) : '')
    }
    this.#pseudonyms.set(word, pseudonym)
    this.#taken.add(pseudonym)
    return pseudonym
  }
}

interface Alphabet {
  readonly letters: string
}

const alphanumeric: Alphabet = { letters: 'abcdefghijklmnopqrstuvwxyz' }
const hexadecimal: Alphabet = { letters: 'abcdef' }

function charsOf(word: string, bytes: Uint8Array, alphabet: Alphabet): string {
  return Array.from(word, (char, i) => replaced(char, bytes[i % bytes.length] ?? 0, alphabet)).join(
    '',
  )
}

function replaced(char: string, byte: number, { letters }: Alphabet): string {
  if (char === '-') return char
  if (char >= '0' && char <= '9') return String(byte % 10)
  const letter = letters[byte % letters.length] ?? 'a'
  return char >= 'A' && char <= 'Z' ? letter.toUpperCase() : letter
}

/** The words of Kubernetes: resources, kinds, groups, versions and fields, and those of its own
 *  objects and labels. */
export function wordsOfKubernetes(schema: Schema): ReadonlySet<string> {
  const words = new Set(ownWords.split(' '))
  const seen = new Set<MessageType>()
  const add = (text: string): void => {
    for (const [word] of text.matchAll(/[A-Za-z0-9]+/g)) words.add(word)
  }
  const addType = (type: MessageType | undefined): void => {
    if (type === undefined || seen.has(type)) return
    seen.add(type)
    for (const field of type.fields) {
      add(field.jsonName)
      addType(schema.findMessageType(field.type))
    }
  }
  for (const { group, version, kind, resource, storage } of schema.resources) {
    for (const text of [group, version, kind, resource, storage?.prefix ?? '']) add(text)
    addType(schema.findKind(group === '' ? version : `${group}/${version}`, kind)?.type)
  }
  return words
}

const ownWords =
  'registry compact FieldsV1 kubernetes k8s io x-k8s default kube system public node lease apiserver controller manager scheduler kubelet proxy kubectl ' +
  'coredns etcd app apps name instance component part managed hostname topology zone region arch amd64 arm64 linux windows os ' +
  'role control plane master http https tcp udp sctp TCP UDP SCTP HTTP HTTPS true false get list watch create update patch delete ' +
  'deletecollection admin edit view cluster cluster-admin authenticated unauthenticated serviceaccounts masters nodes ' +
  'service account token dockerconfigjson dockercfg basic auth ssh tls bootstrap foregroundDeletion orphan pvc pv protection ' +
  'string object integer number boolean array date time int32 int64 double ' +
  'pod template hash generation revision deployment last applied configuration restartedAt ephemeral storage cpu memory pods hugepages attachable'
