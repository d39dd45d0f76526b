/** Names, ids, addresses and times as Kubernetes makes them, from a seed. */

import { type Random, randomInt, randomItem } from '@watchglass/base'

/** The alphabet of generated name suffixes: no vowels, so that no words come out. */
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789'

const adjectives =
  'amber brisk calm deep early fast grand huge inner keen light merry noble open proud quick rapid solid tidy vivid'.split(
    ' ',
  )
const nouns =
  'billing cart catalog checkout gateway indexer inventory ledger mailer metrics orders payments pricing queue ranker report search session shipping worker'.split(
    ' ',
  )

/** Five letters, like the end of a pod's name. */
export function nameSuffix(random: Random, length = 5): string {
  let suffix = ''
  for (let i = 0; i < length; i++) {
    suffix += suffixAlphabet[randomInt(random, 0, suffixAlphabet.length - 1)]
  }
  return suffix
}

/** The hash in the name of a replica set. */
export function templateHash(random: Random): string {
  return nameSuffix(random, 10)
}

/** A random (version 4) UUID. */
export function uid(random: Random): string {
  const hex = (digits: number): string =>
    Math.floor(random.next() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  const variant = '89ab'[randomInt(random, 0, 3)]
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${variant}${hex(3)}-${hex(6)}${hex(6)}`
}

/** A service-like name; the number keeps it unique. */
export function workloadName(random: Random, number: number): string {
  return `${randomItem(random, adjectives)}-${randomItem(random, nouns)}-${number}`
}

/** The nth address of a pod, in 100.64.0.0/10, which no host of the internet has: so it is up to
 *  600,000 pods. */
export function podAddress(n: number): string {
  return address(100, n)
}

/** The nth address of a Service, in 10.96.0.0/12, as kubeadm has it. */
export function serviceAddress(n: number): string {
  return address(10, n)
}

/** The nth address of a node, from 10.120.100.100 on: beside those of Services. */
export function nodeAddress(n: number): string {
  return address(10, 20 * octets ** 2 + n)
}

/** An octet has three digits, so that all addresses of a kind are equally long. */
const [octetMin, octets] = [100, 150]

function address(firstOctet: number, n: number): string {
  const octet = (place: number): number => octetMin + (Math.floor(n / octets ** place) % octets)
  return `${firstOctet}.${octet(2)}.${octet(1)}.${octet(0)}`
}

/** A SHA-256 as image digests show it: random, but of the right length. */
export function digest(random: Random): string {
  return Array.from({ length: 8 }, () =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  ).join('')
}

export function imageOf(name: string, version: string): string {
  return `registry.example.com/shop/${name}:${version}`
}
