/** JSON Schemas that agents' authors write. */
import Ajv2020 from 'ajv/dist/2020';

/** The schema's compile error in words, or null when it is usable. */
export function schemaProblem(schema: Record<string, unknown>): string | null {
  try {
    new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
