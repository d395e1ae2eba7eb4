"""Any answer as text, JSON, CSV, HTML, tiles or a picture. Nothing is computed and no word is added here."""
