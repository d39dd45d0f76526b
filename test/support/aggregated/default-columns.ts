/** The columns of resources whose server declares none. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'

export const columnsOfDefaultTable: readonly object[] =
  schemaOf().tables.find(({ resource }) => resource === 'limitranges')?.columnDefinitions ?? []
