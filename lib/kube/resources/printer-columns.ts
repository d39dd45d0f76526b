/** Columns of Tables as they are declared: in CustomResourceDefinitions, whose oldest form spells
 *  `JSONPath`, and in configuration. */

import type { CustomColumn } from '@watchglass/codec'
import { listOf, numberOf, objectOf, textOf } from '@watchglass/base'

/** The declared columns; undefined if there is no such declaration. */
export function printerColumns(declared: unknown): CustomColumn[] | undefined {
  return Array.isArray(declared) ? listOf(declared).map(columnOf) : undefined
}

function columnOf(declared: unknown): CustomColumn {
  const column = objectOf(declared)
  return {
    name: textOf(column['name']),
    type: textOf(column['type']),
    format: textOf(column['format']),
    description: textOf(column['description']),
    priority: numberOf(column['priority']),
    jsonPath: textOf(column['JSONPath']) || textOf(column['jsonPath']),
  }
}
