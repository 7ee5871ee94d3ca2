/** How much room a value takes where it is stored: small numbers take several times that of their JSON. */
import { mongo } from 'mongoose';

/** Bytes of a document, or of an object inside one. */
export const storedBytes = (value: object): number => mongo.BSON.calculateObjectSize(value);
