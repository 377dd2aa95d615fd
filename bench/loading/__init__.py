"""What fills the database: by COPY, the same in every run."""
