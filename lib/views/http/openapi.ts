/** The OpenAPI document of views, at `/views/openapi/v3`. It is a file of its own and not a part of
 *  `/openapi/v3`, whose documents are those of kube-apiserver. */

import { readDataFile } from '@watchglass/base'

export function viewsDocument(): string {
  return JSON.stringify(readDataFile(import.meta.url, './views-openapi.json'))
}
