/** The texts of OpenAPI documents: descriptions of built-in kinds and parameters as kube-apiserver
 *  gives them, and the little that does not follow from the schema of the objects.
 *
 *  They are data (openapi-texts.json, made of servers' answers by `npm run regenerate:openapi`):
 *  680 kB, 150 kB in the package, read when the first document is asked for. Those of 1.36 were
 *  recorded; of what other minors have, about 3 % is described otherwise there. */

import { readDataFile } from '@watchglass/base'
import type { Period } from '@watchglass/codec'

/** One text for all minors, or several, each for some. */
export type Rows = string | readonly (Period & { readonly text: string })[]

export interface TypeTexts {
  /** The description of the type. */
  readonly d?: Rows
  /** The descriptions of the fields, by their names. */
  readonly f?: Readonly<Record<string, Rows>>
  /** Fields that are required although they are left out when they are empty, or the other way
   *  round. */
  readonly r?: readonly string[]
  /** Defaults that are not the zero of the type. */
  readonly x?: Readonly<Record<string, unknown>>
  /** The values that a field may have, or what is in its list or map. */
  readonly e?: Readonly<Record<string, readonly unknown[]>>
  /** x-kubernetes-unions */
  readonly u?: unknown
}

export interface TextsFile {
  /** Query parameters by name, with a number where a name has several meanings. */
  readonly parameters: Readonly<Record<string, readonly [type: string, rows: Rows]>>
  readonly types: Readonly<Record<string, TypeTexts>>
}

export function textsOfType(name: string): TypeTexts {
  const { types } = file()
  return (Object.hasOwn(types, name) ? types[name] : undefined) ?? {}
}

/** The type and the description of a query parameter; undefined if the minor has none of that name.
 */
export function parameterTexts(
  name: string,
  minor: string,
): { readonly type: string; readonly text: string } | undefined {
  const { parameters } = file()
  const row = Object.hasOwn(parameters, name) ? parameters[name] : undefined
  const text = row === undefined ? undefined : textOf(row[1], minor)
  return row === undefined || text === undefined ? undefined : { type: row[0], text }
}

/** The text for a minor. */
export function textOf(rows: Rows | undefined, minor: string): string | undefined {
  if (rows === undefined || typeof rows === 'string') return rows
  const place = placeOf(minor)
  return rows.find(
    ({ since, until }) =>
      (since === undefined || placeOf(since) <= place) &&
      (until === undefined || place <= placeOf(until)),
  )?.text
}

/** 36 of `1.36` */
function placeOf(minor: string): number {
  return Number(minor.split('.')[1])
}

function file(): TextsFile {
  return readDataFile(import.meta.url, './openapi-texts.json') as TextsFile
}
